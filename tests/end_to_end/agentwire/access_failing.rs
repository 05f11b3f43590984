//! A service that fails: nobody comes into an owned session, and nobody is kept from any other.

use super::{
    relay::PAUSE,
    service::{Says, Service, vouch},
    wire::Request,
};

fn other_answers() -> Vec<Says> {
    let lines =
        ["500 Oops", "404 Not Found", "401 Unauthorized", "204 No Content", "302 Found", "201 Created"];
    lines.into_iter().map(Says::status).chain([Says::Nothing]).collect()
}

#[tokio::test]
async fn any_other_answer_refuses_with_503_in_an_owned_session() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    let luis = session.join_with("luis", "luis-token").await;
    for says in other_answers() {
        let said = says.clone();
        service.now(move |_| said.clone());
        let refused = session.try_join("ada", Some("ada-token")).await;
        assert_eq!(refused.status, 503, "{says:?}");
        let seconds = refused.fails(503).header("retry-after").unwrap().to_owned();
        assert!(seconds.parse::<u64>().is_ok_and(|seconds| seconds > 0), "{seconds}");
        Request::post(&luis.link).body("x").send().await.fails(503);
    }
    luis.get("?wait=0").await.fails_after(503, PAUSE);
    session.read("?wait=0").await.fails_after(503, PAUSE);
    service.now(vouch);
    luis.send("the service is back").await;
    assert_eq!(session.entries().await.len(), 2);
}

#[tokio::test]
async fn a_service_that_does_not_answer_is_not_waited_for_long() {
    let service = Service::start(|_| Says::Silence).await;
    let relay = service.relay();
    let owned = relay.create_owned().await;
    owned.try_join("luis", None).await.fails(503);
    let open = relay.create().await;
    open.join_with("luis", "luis-token").await;
}

#[tokio::test]
async fn in_any_other_session_a_participant_joins_without_an_account() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = relay.create().await;
    for (n, says) in other_answers().into_iter().enumerate() {
        let said = says.clone();
        service.now(move |_| said.clone());
        let name = format!("p{n}");
        let me = session.join_with(&name, "luis-token").await;
        me.send("x").await;
        let presence = session.presence().await;
        assert!(presence[&name].get("account").is_none(), "{says:?}: {presence}");
    }
    service.now(vouch);
}

#[tokio::test]
async fn in_any_other_session_a_participant_goes_on_as_it_was() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = relay.create().await;
    let luis = session.join_with("luis", "luis-token").await;
    service.now(|_| Says::status("500 Oops"));
    luis.send("x").await;
    luis.receive("?wait=0").await;
    let last = session.entries().await.pop().unwrap();
    assert_eq!(last["account"], "luis");
    assert_eq!(session.presence().await["luis"]["account"], "luis");
}

#[tokio::test]
async fn a_yes_that_is_no_json_lets_in_without_an_account() {
    let service = Service::start(|_| Says::Status("200 OK", "welcome".to_owned())).await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    session.join_with("luis", "t").await.send("x").await;
    assert!(session.presence().await["luis"].get("account").is_none());
}
