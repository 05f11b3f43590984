//! Where names lead, at registration and at each request. AA-050, AA-051.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{CAP, LONG, Scripted, Server, answer, dev, dev_resolving, fault, post, reply, until, url};
use crate::egress::interfaces::OwnAddresses;
use crate::egress::resolver::{CHECKS_MAX, Guard, LOOKUPS_MAX, Undialled};
use crate::egress::{
    AddressKind, Egress, EgressOptions, EndpointUrl, Fault, OperatorUrl, Resolve, Slot, UrlPolicy, UrlRefusal,
};

fn public(resolver: &Arc<Scripted>) -> Egress {
    let resolver: Arc<dyn Resolve> = Arc::clone(resolver) as _;
    Egress::new(EgressOptions { resolver: Some(resolver), ..EgressOptions::default() }).unwrap()
}

async fn checked(answers: &[&str]) -> Result<(), UrlRefusal> {
    let egress = public(&Scripted::new(&[answers]));
    let url = EndpointUrl::parse("https://agent.example/play", egress.policy()).unwrap();
    egress.untrusted().check(&url).await
}

#[track_caller]
fn kind(refusal: &UrlRefusal) -> AddressKind {
    match refusal {
        UrlRefusal::Address { kind, .. } => *kind,
        other => panic!("expected an address to be refused, came {other:?}"),
    }
}

#[tokio::test]
async fn a_name_passes_only_where_all_its_addresses_do() {
    assert_eq!(checked(&["93.184.216.34", "2606:4700::1111"]).await, Ok(()));
    assert_eq!(kind(&checked(&["93.184.216.34", "10.0.0.1"]).await.unwrap_err()), AddressKind::Private);
    assert_eq!(kind(&checked(&["10.0.0.1", "93.184.216.34"]).await.unwrap_err()), AddressKind::Private);
    assert_eq!(kind(&checked(&["127.0.0.1"]).await.unwrap_err()), AddressKind::Loopback);
    assert_eq!(kind(&checked(&["::ffff:169.254.169.254"]).await.unwrap_err()), AddressKind::Metadata);
    assert_eq!(checked(&[]).await, Err(UrlRefusal::NoAddress { host: "agent.example".to_owned() }));
}

#[tokio::test]
async fn a_name_that_cannot_be_looked_up_is_refused_at_registration_and_a_fault_of_transport_in_a_match() {
    let egress = dev_resolving(&Scripted::new(&[]));
    let refusal = egress.untrusted().check(&url("https://agent.example/")).await.unwrap_err();
    assert!(matches!(refusal, UrlRefusal::Lookup { .. }), "{refusal:?}");
    assert_eq!(fault(post(&egress, "https://agent.example/").await), Fault::Transport);
}

#[test]
fn the_machines_interfaces_are_known_but_for_loopback() {
    let own = OwnAddresses::new().unwrap();
    for interface in if_addrs::get_if_addrs().unwrap() {
        assert_eq!(own.contains(interface.ip()), !interface.is_loopback(), "{interface:?}");
    }
}

#[tokio::test]
async fn the_machines_own_addresses_are_refused_though_they_are_public() {
    let own = ["93.184.216.34".parse().unwrap(), "2606:4700::1111".parse().unwrap()];
    for policy in [UrlPolicy::Public, UrlPolicy::Dev] {
        let guard = Guard::new(
            policy,
            Arc::new(OwnAddresses::of(&own)),
            Scripted::new(&[&["8.8.8.8", "2606:4700::1111"]]),
            1,
        );
        for (text, refused) in [
            ("https://93.184.216.34/", true),
            ("https://[2606:4700::1111]/", true),
            ("https://[::ffff:93.184.216.34]/", true),
            ("https://[64:ff9b::93.184.216.34]/", true),
            ("https://[2002:5db8:d822::1]/", true),
            ("https://agent.example/", true),
            ("https://93.184.216.35/", false),
        ] {
            let undialled = guard.dialled(url(text).url(), None).await.err();
            let by_kind = matches!(
                undialled,
                Some(Undialled::Refused(UrlRefusal::Address { kind: AddressKind::OwnInterface, .. }))
            );
            assert_eq!((undialled.is_some(), by_kind), (refused, refused), "{text}");
        }
    }
}

#[tokio::test]
async fn the_address_dialled_is_the_one_checked_without_a_second_question() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let resolver = Scripted::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let egress = dev_resolving(&resolver);
    let text = format!("http://agent.example:{}/play", server.address.port());
    assert_eq!(reply(post(&egress, &text).await).0, 200);
    assert_eq!(resolver.asked(), 1);
}

#[tokio::test]
async fn a_name_that_moves_to_a_forbidden_address_is_refused_though_a_connection_is_kept() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let resolver =
        Scripted::new(&[&["127.0.0.1"], &["127.0.0.1"], &["127.0.0.1", "10.0.0.1"], &["127.0.0.1"]]);
    let egress = dev_resolving(&resolver);
    let text = format!("http://agent.example:{}/play", server.address.port());
    assert_eq!(reply(post(&egress, &text).await).0, 200);
    assert_eq!(reply(post(&egress, &text).await).0, 200);
    match fault(post(&egress, &text).await) {
        Fault::Refused(refusal) => assert_eq!(kind(&refusal), AddressKind::Private),
        other => panic!("expected a refusal, came {other:?}"),
    }
    assert_eq!((server.connections(), server.requests().len(), resolver.asked()), (1, 2, 3));
    assert_eq!(reply(post(&egress, &text).await).0, 200);
    assert_eq!((server.connections(), server.requests().len(), resolver.asked()), (1, 3, 4));
}

#[tokio::test]
async fn a_connection_that_no_request_of_ours_asked_for_is_checked_all_the_same() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let resolver = Scripted::new(&[&["127.0.0.1", "192.168.0.1"]]);
    let egress = dev_resolving(&resolver);
    let text = format!("http://agent.example:{}/play", server.address.port());
    let error = egress.untrusted().client.get(text).send().await.unwrap_err();
    assert!(format!("{error:?}").contains("Private"), "{error:?}");
    assert_eq!((server.connections(), resolver.asked()), (0, 1));
}

#[tokio::test]
async fn nothing_is_sent_to_loopback_without_dev_whatever_the_url_was_parsed_for() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let egress = public(&Scripted::new(&[&["127.0.0.1"]]));
    let port = server.address.port();
    for text in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("http://agent.example:{port}/"),
        format!("https://agent.example:{port}/"),
        format!("https://localhost:{port}/"),
    ] {
        assert!(matches!(fault(post(&egress, &text).await), Fault::Refused(_)), "{text}");
        assert!(egress.untrusted().check(&url(&text)).await.is_err(), "{text}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_check_makes_no_connection() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let egress = dev_resolving(&Scripted::new(&[&["127.0.0.1"]]));
    let port = server.address.port();
    egress.untrusted().check(&url(&format!("http://agent.example:{port}/"))).await.unwrap();
    egress.untrusted().check(&url(&format!("http://127.0.0.1:{port}/"))).await.unwrap();
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_systems_resolver_knows_localhost() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let text = format!("http://localhost:{}/play", server.address.port());
    assert_eq!(reply(post(&dev(), &text).await).0, 200);
}

#[tokio::test]
async fn a_silent_resolver_is_cut_off_at_the_deadline() {
    struct Silent(AtomicUsize);
    impl Resolve for Silent {
        fn resolve<'a>(
            &'a self,
            _host: &'a str,
            _slot: Slot,
        ) -> futures::future::BoxFuture<'a, std::io::Result<Vec<std::net::IpAddr>>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::pending())
        }
    }
    let silent = Arc::new(Silent(AtomicUsize::new(0)));
    let resolver: Arc<dyn Resolve> = Arc::clone(&silent) as _;
    let egress = Egress::new(EgressOptions { resolver: Some(resolver), ..EgressOptions::default() }).unwrap();
    let text = "https://agent.example/play";
    let exchange = super::post_within(&egress, text, std::time::Duration::from_millis(50)).await;
    assert_eq!(fault(exchange), Fault::Timeout);
    assert_eq!(silent.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_operators_door_takes_addresses_that_the_other_refuses() {
    let server = Server::answering(answer("200 OK", "", b"yes")).await;
    let egress = public(&Scripted::new(&[&["127.0.0.1"]]));
    for host in ["127.0.0.1", "access"] {
        let text = format!("http://{host}:{}/check", server.address.port());
        assert!(EndpointUrl::parse(&text, UrlPolicy::Public).is_err());
        let url = OperatorUrl::for_test(&text);
        let exchange = egress.operator().get(&url, &[], LONG, CAP).await;
        assert_eq!(reply(exchange), (200, b"yes".to_vec(), false));
    }
}

/// Answers 127.0.0.1 for `agent.example`, and nothing for any other name, whose places it keeps.
#[derive(Default)]
struct Hoarding {
    kept: std::sync::Mutex<Vec<Slot>>,
}

impl Resolve for Hoarding {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        slot: Slot,
    ) -> futures::future::BoxFuture<'a, std::io::Result<Vec<std::net::IpAddr>>> {
        if host == "agent.example" {
            return Box::pin(std::future::ready(Ok(vec![std::net::Ipv4Addr::LOCALHOST.into()])));
        }
        self.kept.lock().unwrap().push(slot);
        Box::pin(std::future::pending())
    }
}

fn hoarding() -> (Arc<Hoarding>, Egress) {
    let resolver = Arc::new(Hoarding::default());
    let asked: Arc<dyn Resolve> = Arc::clone(&resolver) as _;
    let egress = Egress::new(EgressOptions { dev: true, resolver: Some(asked), ..EgressOptions::default() });
    (resolver, egress.unwrap())
}

#[tokio::test]
async fn registrations_of_silent_names_hold_up_no_request() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let (resolver, egress) = hoarding();
    let checks: Vec<_> = (0..100)
        .map(|number| {
            let egress = egress.clone();
            tokio::spawn(async move {
                let silent = url(&format!("https://silent-{number}.example/"));
                let _ = egress.untrusted().check(&silent).await;
            })
        })
        .collect();
    until(|| resolver.kept.lock().unwrap().len() == CHECKS_MAX).await;
    let text = format!("http://agent.example:{}/play", server.address.port());
    assert_eq!(reply(post(&egress, &text).await).0, 200);
    assert_eq!(resolver.kept.lock().unwrap().len(), CHECKS_MAX, "no more of them are open at once");
    checks.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn the_wait_for_a_place_among_the_lookups_is_not_counted() {
    let server = Server::answering(answer("200 OK", "", b"{}")).await;
    let (resolver, egress) = hoarding();
    let short = std::time::Duration::from_millis(20);
    for number in 0..LOOKUPS_MAX {
        let silent = format!("https://silent-{number}.example/");
        assert_eq!(fault(super::post_within(&egress, &silent, short).await), Fault::Timeout);
    }
    assert_eq!(resolver.kept.lock().unwrap().len(), LOOKUPS_MAX);
    let text = format!("http://agent.example:{}/play", server.address.port());
    let waiting = egress.clone();
    let mut waits = tokio::spawn(async move { super::post_within(&waiting, &text, LONG / 2).await });
    // As long as nothing is given back it waits, whatever its deadline.
    assert!(tokio::time::timeout(short * 20, &mut waits).await.is_err());
    resolver.kept.lock().unwrap().pop();
    let exchange = waits.await.unwrap();
    assert!(exchange.latency < short * 20, "{exchange:?}");
    assert_eq!(reply(exchange).0, 200);
}
