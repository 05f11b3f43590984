//! The transport's version is the first part of every path.

use super::{
    relay::{PAUSE, Relay},
    wire::Request,
};

#[tokio::test]
async fn any_version_but_the_current_one_is_gone() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let other = |url: &str, version: &str| url.replacen("/v2/", &format!("/{version}/"), 1);
    for version in ["v0", "v1", "v3", "v10", "v22", "v02"] {
        Request::post(relay.at(&format!("/{version}/s"))).send().await.fails(410);
        Request::post(other(&luis.link, version)).body("x").send().await.fails(410);
        Request::post(format!("{}/join?as=ada", other(&session.link, version))).send().await.fails(410);
    }
    Request::get(other(&luis.link, "v1")).send().await.fails_after(410, PAUSE);
    Request::get(format!("{}/log", other(&session.link, "v3"))).send().await.fails_after(410, PAUSE);
    assert_eq!(session.entries().await.len(), 1);
}

#[tokio::test]
async fn what_is_no_version_is_not_found() {
    let relay = Relay::start();
    for path in ["/v/s", "/vx/s", "/v2x/s", "/V2/s", "/v-1/s"] {
        let answer = Request::post(relay.at(path)).send().await;
        assert_eq!(answer.status, 404, "{path}");
    }
}
