//! The HTTP API of SURFACE.md, *Registration and play*: what comes in is read and checked here, what the engine says is put
//! into JSON or a problem. What never belongs here: pages for people (web), a protocol's own bytes.

mod agents;
mod body;
pub(crate) mod caller;
pub(crate) mod dev;
mod health;
mod matches;
mod posted;

use crate::arena::Arena;
use axum::{
    Router,
    routing::{MethodRouter, get, post},
};

pub(crate) use body::{BODY_BYTES_MAX, InPath, InQuery};

/// The routes of the API.
pub fn routes() -> Router<Arena> {
    let routes = Router::new()
        .route("/api/v1/agents", get(agents::list))
        .route("/api/v1/agents/{slug}", get(agents::show))
        .route("/api/v1/matches/{id}", get(matches::show))
        .route("/healthz", get(health::alive))
        .route("/metrics", get(health::figures))
        .route("/readyz", get(health::ready));
    posts().into_iter().fold(routes, |routes, (path, post)| routes.route(path, post))
}

/// Those that do something. Each honours an `Idempotency-Key`, which a test asks of all that stand here.
fn posts() -> [(&'static str, MethodRouter<Arena>); 4] {
    [
        ("/api/v1/agents", post(agents::register)),
        ("/api/v1/agents/{slug}/endpoint", post(agents::set_endpoint)),
        ("/api/v1/matches", post(matches::challenge)),
        ("/practice", post(matches::practice)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{idempotency::REPLAYED, place::Keeping, server, settings::Settings};
    use axum::{
        body::{Body, to_bytes},
        extract::Request,
        http::{StatusCode, header},
    };
    use serde_json::Value;
    use tower::Service;

    /// Posts; the status, whether it was answered before, and the JSON.
    async fn post(
        arena: &Arena,
        path: &str,
        api_key: &str,
        key: &str,
        body: &str,
    ) -> (StatusCode, bool, Value) {
        let request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {api_key}"))
            .header("idempotency-key", key)
            .body(Body::from(body.to_owned()))
            .unwrap();
        let response = server::routes(arena).call(request).await.unwrap();
        let (status, again) = (response.status(), response.headers().contains_key(REPLAYED));
        let bytes = to_bytes(response.into_body(), BODY_BYTES_MAX).await.unwrap();
        (status, again, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn every_route_that_does_something_honours_an_idempotency_key() {
        let settings = Settings { dev: true, ..Settings::default() };
        let arena = Arena::open(settings, "http://arena.invalid".to_owned(), Keeping::Memory).await.unwrap();
        let agent = |name: &str| {
            format!(
                "{{\"name\":\"{name}\",\"protocol\":\"agentarena/1\",\"endpoint_url\":\"http://127.0.0.1:9/play\"}}"
            )
        };
        let (_, _, made) = post(&arena, "/api/v1/agents", "", "register-for-them-all", &agent("left")).await;
        let api_key = made["api_key"].as_str().unwrap();
        for (path, _) in posts() {
            let body = match path {
                "/api/v1/agents" => agent("right"),
                "/api/v1/agents/{slug}/endpoint" => "{\"challenges\":\"none\"}".to_owned(),
                "/api/v1/matches" => "{\"game\":\"connect4\",\"opponent\":\"pebble-1\"}".to_owned(),
                "/practice" => String::new(),
                _ => panic!("say here how {path} is called"),
            };
            let path = path.replace("{slug}", "left");
            let key = "a-key-for-each-of-them";
            let (status, again, first) = post(&arena, &path, api_key, key, &body).await;
            assert!(status.is_success() && !again, "{path}: {first}");
            let repeat = post(&arena, &path, api_key, key, &body).await;
            assert_eq!(repeat, (status, true, first), "{path}");
            let (status, _, problem) = post(&arena, &path, api_key, key, &format!("{body} ")).await;
            assert_eq!((status.as_u16(), &problem["code"]), (409, &"second_key_conflict".into()), "{path}");
            let (status, _, problem) = post(&arena, &path, api_key, "too-short", &body).await;
            assert_eq!(
                (status.as_u16(), &problem["code"]),
                (400, &"invalid_idempotency_key".into()),
                "{path}"
            );
        }
        arena.close().await.unwrap();
    }

    #[test]
    fn no_other_room_of_the_api_serves_a_post() {
        for (room, text) in [
            ("agents", include_str!("agents.rs")),
            ("health", include_str!("health.rs")),
            ("matches", include_str!("matches.rs")),
            ("the pages", include_str!("../web/mod.rs")),
            ("the listener", include_str!("../server.rs")),
        ] {
            assert!(!text.contains("post("), "{room}: a POST stands in `posts`");
        }
        let (routes, _) = include_str!("mod.rs").split_once("fn posts()").unwrap();
        assert!(!routes.contains(".post(") && !routes.contains(" post("), "a POST stands in `posts`");
    }
}
