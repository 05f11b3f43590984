//! Which connection a failed request went out on: one that was dialled for it, or one that an earlier
//! request left behind, and whether the connection's end alone is what broke it.
//!
//! A server may close a kept connection whenever it likes, and one that answers and then closes
//! without `connection: close` does so while our next request is on its way (RFC 9112, 9.3.1 and 9.5).
//! That request was then never answered because of what had ended before it, not because of itself.

use std::cell::Cell;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use axum::http::Extensions;
use futures::future::BoxFuture;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpInfo};
use reqwest::{Client, Request, Response};
use tower::{Layer, Service};

use super::exchange::causes;

tokio::task_local! {
    /// Our end of the connection that was last dialled by the request that this task is sending.
    static DIALLED_HERE: Cell<Option<SocketAddr>>;
}

/// A request that came to no head of a reply.
pub(super) struct Failed {
    pub(super) error: reqwest::Error,
    /// It went out on a kept connection, and that one ended before a reply's head was whole.
    pub(super) met_an_end: bool,
}

/// Sends it. The client must note its dials ([`NotingDials`]).
pub(super) async fn execute(client: &Client, request: Request) -> Result<Response, Failed> {
    let sending = async {
        client.execute(request).await.map_err(|error| {
            let met_an_end = ended_while_kept(&error, DIALLED_HERE.with(Cell::get));
            Failed { error, met_an_end }
        })
    };
    DIALLED_HERE.scope(Cell::new(None), sending).await
}

/// Whether the failure says that the connection ended and nothing else (no timeout, no alert of TLS,
/// nothing that is not HTTP), and that it was not the one dialled here.
///
/// That something was dialled does not tell: the client takes a connection that another request lays
/// back meanwhile, if that is there first, and leaves the dialled one for later. So the two are
/// compared by our end's address, which no two open connections to one server share.
fn ended_while_kept(error: &reqwest::Error, dialled: Option<SocketAddr>) -> bool {
    let (mut used, mut ended) = (None, false);
    for cause in causes(error) {
        if cause.is::<rustls::Error>() {
            return false;
        }
        if let Some(client) = cause.downcast_ref::<legacy::Error>() {
            // None where there never was a connection.
            used = client.connect_info().and_then(our_end);
        }
        ended |= is_an_end(cause);
    }
    ended && used.is_some() && used != dialled
}

fn is_an_end(cause: &(dyn Error + 'static)) -> bool {
    if let Some(http) = cause.downcast_ref::<hyper::Error>() {
        return http.is_incomplete_message() || http.is_canceled() || http.is_closed();
    }
    cause.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::NotConnected
                | io::ErrorKind::UnexpectedEof
        )
    })
}

fn our_end(connected: &Connected) -> Option<SocketAddr> {
    let mut extras = Extensions::new();
    connected.get_extras(&mut extras);
    extras.get::<HttpInfo>().map(HttpInfo::local_addr)
}

/// Has a client's connector note what it dialled for the request that is being sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct NotingDials;

impl<S> Layer<S> for NotingDials {
    type Service = Noting<S>;

    fn layer(&self, connector: S) -> Noting<S> {
        Noting { connector }
    }
}

/// The connector of such a client.
#[derive(Debug, Clone)]
pub(super) struct Noting<S> {
    connector: S,
}

impl<S, Target> Service<Target> for Noting<S>
where
    S: Service<Target, Response: Connection, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, target: Target) -> Self::Future {
        let dialling = self.connector.call(target);
        Box::pin(async move {
            let connection = dialling.await?;
            // Where the request took another connection meanwhile, this goes on in a task of its own,
            // which has nothing to note it in, and needs nothing: it is a kept one from the start.
            let _elsewhere = DIALLED_HERE.try_with(|own| own.set(our_end(&connection.connected())));
            Ok(connection)
        })
    }
}
