//! What an endpoint's URL may be, by its text alone.

use crate::egress::{EndpointUrl, OperatorUrl, URL_BYTES_MAX, UrlPolicy, UrlRefusal};

/// The name of what came of it: the refusal's, or `ok`.
fn verdict(text: &str, policy: UrlPolicy) -> String {
    match EndpointUrl::parse(text, policy) {
        Ok(_) => "ok".to_owned(),
        Err(UrlRefusal::Address { kind, .. }) => format!("{kind:?}"),
        Err(refusal) => format!("{refusal:?}").split([' ', '{']).next().unwrap_or_default().to_owned(),
    }
}

#[track_caller]
fn check(policy: UrlPolicy, table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(verdict(text, policy), *expected, "{text}");
    }
}

#[test]
fn public_https_urls_are_taken() {
    check(
        UrlPolicy::Public,
        &[
            ("https://your-agent.example/play", "ok"),
            ("https://your-agent.example", "ok"),
            ("HTTPS://Your-Agent.EXAMPLE/play?a=1&b=%20", "ok"),
            ("https://your-agent.example:8443/play", "ok"),
            ("https://your_agent.example/a@b", "ok"),
            ("https://a.b.c.example/{x}|y^z`?q={x}|'\"", "ok"),
            ("https://bücher.example/", "ok"),
            ("https://xn--bcher-kva.example/", "ok"),
            ("https://8.8.8.8/play", "ok"),
            ("https://8.8.8.8:8443/play", "ok"),
            ("https://[2606:4700:4700::1111]/play", "ok"),
            ("https://[2606:4700:4700:0:0:0:0:1111]:8443/", "ok"),
            ("https://localhost.example/", "ok"),
            ("https://notinternal.example/", "ok"),
            ("https://internal.example/", "ok"),
            ("https://10.0.0.1.nip.io/", "ok"),
        ],
    );
}

#[test]
fn everything_else_is_refused_by_name() {
    check(
        UrlPolicy::Public,
        &[
            ("http://your-agent.example/play", "Scheme"),
            ("ftp://your-agent.example/play", "Scheme"),
            ("file:///etc/passwd", "Scheme"),
            ("gopher://your-agent.example/", "Scheme"),
            ("javascript:alert(1)", "Malformed"),
            ("", "Malformed"),
            ("https://your-agent.example:0/play", "Malformed"),
            ("your-agent.example/play", "Malformed"),
            ("https:your-agent.example/play", "Malformed"),
            ("https:/your-agent.example/play", "Malformed"),
            ("https:///your-agent.example/play", "Malformed"),
            ("https://", "Malformed"),
            ("https://:443/", "Malformed"),
            (" https://your-agent.example/", "Malformed"),
            ("https://your-agent.example/\n", "Malformed"),
            ("https://your-\tagent.example/", "Malformed"),
            ("https://your-agent.example\\@127.0.0.1/", "Malformed"),
            ("https://your-agent.example:99999/", "Malformed"),
            ("https://your-agent.example:x/", "Malformed"),
            ("https://your%2dagent.example/", "Malformed"),
            ("https://your-agent..example/", "Malformed"),
            ("https://.example.com/", "Malformed"),
            ("https://[::1/", "Malformed"),
            ("https://[fe80::1%25eth0]/", "Malformed"),
            ("https://user@your-agent.example/", "Userinfo"),
            ("https://user:secret@your-agent.example/", "Userinfo"),
            ("https://@your-agent.example/", "Userinfo"),
            ("https://:@your-agent.example/", "Userinfo"),
            ("https://8.8.8.8@127.0.0.1/", "Userinfo"),
            ("https://your-agent.example/#", "Fragment"),
            ("https://your-agent.example/play#part", "Fragment"),
            ("https://your-agent.example./play", "TrailingDot"),
            ("https://localhost./play", "TrailingDot"),
        ],
    );
}

#[test]
fn local_names_are_refused() {
    check(
        UrlPolicy::Public,
        &[
            ("https://localhost/", "LocalName"),
            ("https://LOCALHOST:8443/", "LocalName"),
            ("https://ｌｏｃａｌｈｏｓｔ/", "LocalName"),
            ("https://agent.localhost/", "LocalName"),
            ("https://intranet/", "LocalName"),
            ("https://metadata/", "LocalName"),
            ("https://instance-data/", "LocalName"),
            ("https://metadata.google.internal/", "LocalName"),
            ("https://Metadata.Google.Internal/computeMetadata/v1/", "LocalName"),
            ("https://metadata.goog/", "LocalName"),
            ("https://ip-10-0-0-1.ec2.internal/", "LocalName"),
            ("https://printer.local/", "LocalName"),
            ("https://box.home.arpa/", "LocalName"),
            ("https://host.localdomain/", "LocalName"),
            ("https://arena.default.svc/", "LocalName"),
            ("https://arena.default.svc.cluster.local/", "LocalName"),
        ],
    );
}

#[test]
fn an_address_is_written_plainly_and_judged() {
    check(
        UrlPolicy::Public,
        &[
            ("https://2130706433/", "OddAddress"),
            ("https://0x7f000001/", "OddAddress"),
            ("https://0x7f.0.0.1/", "OddAddress"),
            ("https://0177.0.0.1/", "OddAddress"),
            ("https://017700000001/", "OddAddress"),
            ("https://127.1/", "OddAddress"),
            ("https://127.0.1/", "OddAddress"),
            ("https://0/", "OddAddress"),
            ("https://127.0.0.1./", "OddAddress"),
            ("https://8.8.8.8./", "OddAddress"),
            ("https://134744072/", "OddAddress"),
            ("https://8.8.2056/", "OddAddress"),
            ("https://08.8.8.8/", "Malformed"),
            ("https://010.8.8.8/", "OddAddress"),
            ("https://１２７.0.0.1/", "OddAddress"),
            ("https://127。0。0。1/", "OddAddress"),
            ("https://127．0．0．1/", "OddAddress"),
            ("https://①②⑦.0.0.1/", "OddAddress"),
            ("https://%31%32%37.0.0.1/", "Malformed"),
            ("https://256.0.0.1/", "Malformed"),
            ("https://1.2.3.4.5/", "Malformed"),
            ("https://agent.123/", "Malformed"),
            ("https://127.0.0.1/", "Loopback"),
            ("https://127.0.0.1:8443/", "Loopback"),
            ("https://0.0.0.0/", "Unspecified"),
            ("https://10.0.0.1/", "Private"),
            ("https://192.168.1.1/", "Private"),
            ("https://100.64.0.1/", "Shared"),
            ("https://169.254.169.254/latest/meta-data/", "Metadata"),
            ("https://[::]/", "Unspecified"),
            ("https://[::1]:8443/", "Loopback"),
            ("https://[0:0:0:0:0:0:0:1]/", "Loopback"),
            ("https://[::ffff:127.0.0.1]/", "Loopback"),
            ("https://[::ffff:a00:1]/", "Private"),
            ("https://[64:ff9b::7f00:1]/", "Loopback"),
            ("https://[2002:7f00:1::]/", "Loopback"),
            ("https://[fe80::1]/", "LinkLocal"),
            ("https://[fd00:ec2::254]/", "Metadata"),
        ],
    );
}

#[test]
fn development_adds_http_and_loopback_and_nothing_else() {
    check(
        UrlPolicy::Dev,
        &[
            ("http://127.0.0.1:8080/play", "ok"),
            ("https://127.0.0.1/", "ok"),
            ("http://[::1]:8080/play", "ok"),
            ("http://localhost:8080/play", "ok"),
            ("http://agent.localhost/", "ok"),
            ("http://your-agent.example/", "ok"),
            ("ftp://127.0.0.1/", "Scheme"),
            ("http://127.1/", "OddAddress"),
            ("http://[::ffff:127.0.0.1]/", "Loopback"),
            ("http://0.0.0.0:8080/", "Unspecified"),
            ("http://10.0.0.1/", "Private"),
            ("http://169.254.169.254/", "Metadata"),
            ("http://intranet/", "LocalName"),
            ("http://localhost./", "TrailingDot"),
            ("http://me@localhost/", "Userinfo"),
        ],
    );
}

#[test]
fn the_longest_url_is_taken_and_one_byte_more_is_not() {
    let filled =
        |bytes: usize| format!("https://a.example/{}", "x".repeat(bytes - "https://a.example/".len()));
    assert_eq!(verdict(&filled(URL_BYTES_MAX), UrlPolicy::Public), "ok");
    assert_eq!(verdict(&filled(URL_BYTES_MAX + 1), UrlPolicy::Public), "TooLong");
    let label = "a".repeat(63);
    let name = [label.as_str(); 3].join(".");
    assert_eq!(verdict(&format!("https://{name}.{}/", "a".repeat(61)), UrlPolicy::Public), "ok");
    assert_eq!(verdict(&format!("https://{name}.{}/", "a".repeat(62)), UrlPolicy::Public), "Malformed");
    assert_eq!(verdict(&format!("https://{label}a.example/"), UrlPolicy::Public), "Malformed");
}

#[test]
fn a_refusal_tells_what_came_but_not_where_a_name_leads() {
    let refusal = EndpointUrl::parse("https://127.1/", UrlPolicy::Public).unwrap_err();
    assert!(refusal.to_string().contains("\"127.1\"") && refusal.to_string().contains("127.0.0.1"));
    let inside = UrlRefusal::Address {
        host: "db.corp.example".to_owned(),
        address: "10.20.30.40".parse().unwrap(),
        kind: crate::egress::AddressKind::Private,
    };
    assert!(!inside.to_string().contains("10.20"));
}

#[test]
fn debug_output_shows_neither_path_nor_query() {
    let url = EndpointUrl::parse("https://a.example:444/play?token=secret", UrlPolicy::Public).unwrap();
    assert_eq!(format!("{url:?}"), "EndpointUrl(https://a.example:444/…)");
    assert_eq!(url.to_string(), "https://a.example:444/play?token=secret");
    let url = OperatorUrl::for_test("http://a.example/hook/secret");
    assert_eq!(format!("{url:?}"), "OperatorUrl(http://a.example/…)");
}

#[test]
fn another_place_at_an_operators_service_stays_at_that_service() {
    let service = OperatorUrl::for_test("http://access:9000/v1/check?x=1");
    assert_eq!(service.at("/v2?y=2").unwrap().as_str(), "http://access:9000/v2?y=2");
    for path in [
        "",
        "v2",
        "/v2#x",
        "//elsewhere/",
        "//access:9001/",
        "/\\elsewhere",
        "/\n/elsewhere/",
        "http://elsewhere/",
        "\\\\elsewhere/",
    ] {
        assert!(service.at(path).is_err(), "{path}");
    }
}
