//! TLS that holds, TLS that doesn't, and none at all.

use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::{LONG, Server, answer, dev, fault, post, reply};
use crate::egress::{Egress, EgressError, EgressOptions, Fault, Outcome};

pub(super) fn certificate(host: &str) -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(vec![host.to_owned()]).unwrap()
}

fn trusting(root: Vec<u8>) -> Egress {
    Egress::new(EgressOptions { dev: true, extra_roots: vec![root], ..EgressOptions::default() }).unwrap()
}

/// The server's side of TLS with this certificate.
pub(super) fn acceptor(key: &CertifiedKey<KeyPair>) -> TlsAcceptor {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![key.cert.der().clone()],
            PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into()),
        )
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn secured(key: &CertifiedKey<KeyPair>, said: Vec<u8>, close_notify: bool) -> Server {
    let acceptor = acceptor(key);
    let said: Arc<[u8]> = said.into();
    Server::talking(move |stream, seen| {
        let (acceptor, said) = (acceptor.clone(), Arc::clone(&said));
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            while seen.request(&mut stream).await.is_some() {
                stream.write_all(&said).await.unwrap();
                stream.flush().await.unwrap();
                if !said.windows(14).any(|part| part == b"content-length") {
                    break;
                }
            }
            if close_notify {
                stream.shutdown().await.ok();
            }
        }
    })
    .await
}

fn https(server: &Server, host: &str) -> String {
    format!("https://{host}:{}/play", server.address.port())
}

#[tokio::test]
async fn a_certificate_under_an_extra_root_is_trusted_in_der_and_in_pem() {
    for host in ["localhost", "127.0.0.1"] {
        let key = certificate(host);
        for root in [key.cert.der().to_vec(), key.cert.pem().into_bytes()] {
            let server = secured(&key, answer("200 OK", "", b"{}"), true).await;
            let egress = trusting(root);
            for _ in 0..3 {
                assert_eq!(reply(post(&egress, &https(&server, host)).await), (200, b"{}".to_vec(), false));
            }
            assert_eq!(server.connections(), 1);
        }
    }
}

#[tokio::test]
async fn an_unknown_issuer_is_a_fault_of_tls() {
    let server = secured(&certificate("localhost"), answer("200 OK", "", b"{}"), true).await;
    match post(&dev(), &https(&server, "localhost")).await.outcome {
        Outcome::Fault { fault: Fault::Tls, detail, status: None, .. } => {
            assert!(detail.contains("UnknownIssuer"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_certificate_for_another_host_is_a_fault_of_tls() {
    let key = certificate("other.example");
    let server = secured(&key, answer("200 OK", "", b"{}"), true).await;
    let egress = trusting(key.cert.der().to_vec());
    for host in ["localhost", "127.0.0.1"] {
        assert_eq!(fault(post(&egress, &https(&server, host)).await), Fault::Tls);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn plain_text_where_tls_is_expected_is_a_fault_of_tls() {
    let server = Server::talking(|mut stream, _seen| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.ok();
        let mut rest = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await.ok();
    })
    .await;
    assert_eq!(fault(post(&dev(), &https(&server, "127.0.0.1")).await), Fault::Tls);
}

#[tokio::test]
async fn a_connection_closed_within_the_handshake_is_a_fault_of_transport() {
    let server = Server::talking(|_stream, _seen| async {}).await;
    assert_eq!(fault(post(&dev(), &https(&server, "127.0.0.1")).await), Fault::Transport);
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_needs_the_closing_of_tls() {
    let key = certificate("localhost");
    let egress = trusting(key.cert.der().to_vec());
    let open_ended = b"HTTP/1.1 200 OK\r\n\r\n{}".to_vec();
    let server = secured(&key, open_ended.clone(), true).await;
    assert_eq!(reply(post(&egress, &https(&server, "localhost")).await), (200, b"{}".to_vec(), false));
    let server = secured(&key, open_ended, false).await;
    assert_eq!(fault(post(&egress, &https(&server, "localhost")).await), Fault::Transport);
}

#[tokio::test]
async fn http_to_a_port_that_speaks_tls_is_a_fault_of_transport() {
    let key = certificate("localhost");
    let server = secured(&key, answer("200 OK", "", b"{}"), true).await;
    let exchange = super::post_within(&dev(), &server.url(), LONG).await;
    assert_eq!(fault(exchange), Fault::Transport);
}

#[test]
fn what_is_no_certificate_is_refused_as_a_root() {
    let good = certificate("localhost").cert.der().to_vec();
    for bad in [b"".to_vec(), b"not a certificate".to_vec(), good[..20].to_vec()] {
        let options = EgressOptions { extra_roots: vec![good.clone(), bad], ..EgressOptions::default() };
        assert!(matches!(Egress::new(options), Err(EgressError::Root { index: 1, .. })));
    }
}
