//! The listener: all routes, the limits that every request meets, and an orderly end.

use crate::{
    agentwire, api,
    arena::Arena,
    door::{Door, Held},
    problem::Problem,
    web,
};
use anyhow::Result;
use arena_schema::id::MatchId;
use axum::{
    Router, ServiceExt,
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::future::RouteFuture,
};
use futures::future::{BoxFuture, Either};
use std::{
    convert::Infallible,
    future::Future,
    task::{Context, Poll},
    time::Duration,
};
use tokio::net::TcpListener;
use tower::Service;

/// How long a stop waits for clients that keep their connections open.
pub const STOP_WAIT: Duration = Duration::from_secs(3);

/// All routes of an arena.
pub fn routes(arena: &Arena) -> Router {
    let mut router = api::routes().merge(web::routes());
    if arena.settings().dev {
        router = router.merge(api::dev::routes());
    }
    router
        .fallback(|| async { Problem::not_found("page") })
        .method_not_allowed_fallback(|method: Method| async move {
            let detail = format!("{method} is not served at this address.");
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .layer(DefaultBodyLimit::max(api::BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(arena.clone(), own_writes))
        .layer(middleware::from_fn(plain_headers))
        .with_state(arena.clone())
}

/// A caller reads its own writes, through whichever gateway: before anything is looked at, the state has what was there when
/// the request came. How the process is does not wait for that.
async fn own_writes(State(arena): State<Arena>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let caught_up = match match_in(path) {
        _ if matches!(path, "/healthz" | "/readyz" | "/metrics") => Ok(()),
        Some(id) => arena.catch_up_with(id).await,
        None => arena.catch_up(|_| true).await,
    };
    match caught_up {
        Ok(()) => next.run(request).await,
        Err(behind) => behind.into_response(),
    }
}

/// The match that an address speaks of.
fn match_in(path: &str) -> Option<MatchId> {
    path.split('/').find_map(|part| MatchId::parse(part.strip_suffix(".json").unwrap_or(part)))
}

/// What every answer carries.
async fn plain_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await.into_response();
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let policy = HeaderValue::from_static(
            "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
             base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        );
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// What the relay answers goes past the router and its layers: a receive that waits there costs little.
#[derive(Clone)]
struct Doors {
    arena: Arena,
    router: Router,
}

impl Service<Request> for Doors {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<RouteFuture<Infallible>, BoxFuture<'static, Result<Response, Infallible>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if agentwire::is_for_relay(&request) {
            let relay = self.arena.relay().clone();
            return Either::Right(Box::pin(async move { Ok(relay.answer(request).await) }));
        }
        Either::Left(self.router.call(request))
    }
}

/// Answers until `stop` comes, then finishes what is being answered.
///
/// # Errors
/// What the system says when the listener fails.
pub async fn serve(
    arena: &Arena,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let doors = Doors { arena: arena.clone(), router: routes(arena) };
    let service = doors.into_make_service_with_connect_info::<Held>();
    axum::serve(Door::new(listener), service).with_graceful_shutdown(stop).await?;
    Ok(())
}
