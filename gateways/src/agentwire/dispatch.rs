//! From a request to its operation, and from its outcome to the answer: which pause comes before it, and that a connection whose
//! request waits may be silent.

use super::{Relay, access::Token, failure::Failure, limits::Client, path, path::Operation, reply, script};
use crate::door::Held;
use axum::{
    body::Body,
    extract::{ConnectInfo, Request},
    http::{Method, Response},
};
use std::time::Duration;

/// Whether a request is the relay's to answer.
pub(crate) fn is_for_relay(request: &Request) -> bool {
    let path = request.uri().path();
    path::is_versioned(path) || path == script::PATH
}

impl Relay {
    /// Answers a request that is the relay's.
    pub(crate) async fn answer(self, request: Request) -> Response<Body> {
        if request.method() == Method::OPTIONS {
            return reply::finish(reply::preflight());
        }
        if request.uri().path() == script::PATH {
            let script = self.script(request.method());
            return reply::finish(script.unwrap_or_else(Failure::response));
        }
        let held =
            request.extensions().get::<ConnectInfo<Held>>().map(|held| held.0.clone()).unwrap_or_default();
        let path = request.uri().path().to_owned();
        let operation = Operation::parse(request.method(), &path);
        let pauses = match &operation {
            Ok(operation) => operation.pauses(),
            // A client that receives in another version receives again at once.
            Err(failure) => *failure == Failure::version() && request.method() == Method::GET,
        };
        let outcome = match operation {
            Ok(operation) => self.act(operation, request, &held).await,
            Err(failure) => Err(failure),
        };
        let answer = match outcome {
            Ok(answer) => answer,
            Err(failure) => {
                if pauses {
                    let _holding = held.hold();
                    self.pause().await;
                }
                failure.response()
            }
        };
        reply::finish(answer)
    }

    async fn act(
        &self,
        operation: Operation<'_>,
        request: Request,
        held: &Held,
    ) -> Result<Response<Body>, Failure> {
        let query = request.uri().query().map(str::to_owned);
        let query = query.as_deref();
        let token = Token::of(request.headers());
        let presented = token.as_ref();
        let client = Client::of(held.peer(), request.headers(), &self.limits.trusted);
        // What is done before anything waits is kept apart, and gone by then: what waits takes no room for it.
        match operation {
            Operation::Create => Box::pin(self.create(query, &client)).await,
            Operation::Join { address } => Box::pin(self.join(address, query, presented)).await,
            Operation::Rejoin { address, secret } => {
                Box::pin(self.rejoin(address, secret, query, presented)).await
            }
            Operation::Send { address, secret } => Box::pin(self.send(address, secret, query, request)).await,
            Operation::Leave { address, secret } => Box::pin(self.leave(address, secret, query)).await,
            Operation::Fetch { address, secret, n } => {
                Box::pin(self.fetch(address, secret, n, query, presented)).await
            }
            Operation::FetchRead { address, n } => {
                Box::pin(self.fetch_read(address, n, query, presented)).await
            }
            Operation::Receive { address, secret } => {
                // What waits keeps nothing of the request.
                drop(request);
                let receive = Box::pin(self.receive(address, secret, query, presented)).await?;
                self.run(receive, held, client).await
            }
            Operation::Read { address } => {
                drop(request);
                let read = Box::pin(self.read(address, query, token)).await?;
                self.run(read, held, client).await
            }
        }
    }

    /// So that a client that receives again at once still sends few requests. A relay that stops waits for nobody.
    async fn pause(&self) {
        let pause = Duration::from_secs(self.settings.failed_receive_pause_s);
        let mut stopping = self.stopping.clone();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }
}
