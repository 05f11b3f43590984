//! An owned session is deleted only where its service lets it.

use super::{
    relay::{Relay, Session, number, until},
    service::{Asked, Says, Service, vouch},
};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// Answers questions of deletion so, and all others as ever.
fn deleting(says: Says) -> impl Fn(&Asked) -> Says + Send {
    move |asked| if asked.what.starts_with("GET ") { says.clone() } else { vouch(asked) }
}

async fn is_asked(service: &Service, session: &Session) {
    let question = format!("GET /sessions/{}", session.address());
    until(&question, async || service.asked().iter().any(|asked| asked.what == question)).await;
}

fn with_clock(service: &Service) -> Relay {
    service.relay_with(&[("ACCESS_CACHE_S", "0")], &["--test-clock"])
}

#[tokio::test]
async fn when_everyone_left_404_lets_it_be_deleted() {
    let service = Service::start(deleting(Says::status("404 Not Found"))).await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    session.join("luis").await.leave().await;
    is_asked(&service, &session).await;
    session.gone().await;
}

#[tokio::test]
async fn when_everyone_left_200_keeps_it_as_it_was() {
    let service = Service::start(deleting(Says::yes())).await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    let luis = session.join("luis").await;
    luis.send("kept").await;
    luis.receive("?wait=0").await;
    luis.leave().await;
    is_asked(&service, &session).await;
    session.try_join("luis", None).await.fails(409);
    let again = luis.post("join").await.is(200).json();
    assert_eq!((number(&again), &again["read"]), (4, &2.into()), "numbers and positions go on");
    assert_eq!(session.entries().await[1]["text"], "kept");
}

#[tokio::test]
async fn what_the_service_does_not_answer_for_is_kept_and_asked_about_again() {
    let service = Service::start(deleting(Says::status("500 Oops"))).await;
    let relay = with_clock(&service);
    let session = relay.create_owned().await;
    let luis = session.join("luis").await;
    luis.leave().await;
    is_asked(&service, &session).await;
    luis.post("join").await.is(200);
    luis.leave().await;
    service.taken();
    service.now(deleting(Says::status("404 Not Found")));
    relay.advance(DAY + HOUR).await;
    is_asked(&service, &session).await;
    session.gone().await;
}

#[tokio::test]
async fn one_that_nobody_joined_is_asked_about_after_a_day() {
    for (says, kept) in [(Says::yes(), true), (Says::Nothing, true), (Says::status("404 Not Found"), false)] {
        let service = Service::start(deleting(says)).await;
        let relay = with_clock(&service);
        let session = relay.create_owned().await;
        relay.advance(DAY + HOUR).await;
        is_asked(&service, &session).await;
        if kept {
            session.join("luis").await;
        } else {
            session.gone().await;
        }
    }
}

#[tokio::test]
async fn one_that_nobody_received_in_is_asked_about_after_a_week() {
    for (says, kept) in
        [(Says::yes(), true), (Says::status("503 Down"), true), (Says::status("404 Not Found"), false)]
    {
        let service = Service::start(deleting(says)).await;
        let relay = with_clock(&service);
        let session = relay.create_owned().await;
        let luis = session.join("luis").await;
        luis.receive("?wait=0").await;
        relay.advance(7 * DAY + HOUR).await;
        is_asked(&service, &session).await;
        if kept {
            luis.send("kept").await;
        } else {
            session.gone().await;
        }
    }
}

#[tokio::test]
async fn an_open_session_is_deleted_without_asking() {
    let service = Service::start(deleting(Says::yes())).await;
    let relay = service.relay();
    let session = relay.create().await;
    session.join_with("luis", "luis-token").await.leave().await;
    session.gone().await;
    assert!(service.asked().iter().all(|asked| asked.what == "POST /join"), "{:?}", service.asked());
}

#[tokio::test]
async fn the_question_carries_no_secret_but_the_address() {
    let service = Service::start(deleting(Says::status("404 Not Found"))).await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    session.join_with("luis", "luis-token").await.leave().await;
    is_asked(&service, &session).await;
    let asked = service.asked();
    let question = asked.iter().find(|asked| asked.what.starts_with("GET ")).unwrap();
    assert!(question.body.is_null(), "{question:?}");
}
