//! How the HTTP clients of both doors are made: TLS, pool, and all that is switched off.

use std::sync::Arc;
use std::time::Duration;

use reqwest::ClientBuilder;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::EgressError;

/// How many idle connections are kept for one host and port.
pub const IDLE_CONNECTIONS_PER_HOST_MAX: usize = 1024;

/// The same for a line of one endpoint's own, which is asked one thing at a time.
pub const IDLE_CONNECTIONS_PER_LINE: usize = 1;

/// How long an idle connection is kept. Shorter than the common servers keep theirs (gunicorn 2 s,
/// Node and uvicorn 5 s): a request that meets a connection just being closed is a reset, and has to
/// be sent a second time.
pub const CONNECTION_IDLE_MAX: Duration = Duration::from_millis(1500);

/// TLS 1.2 and 1.3 with ring, the public roots and the extra ones.
pub(super) fn tls(extra_roots: &[Vec<u8>]) -> Result<ClientConfig, EgressError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for (index, bytes) in extra_roots.iter().enumerate() {
        let bad = |why: String| EgressError::Root { index, why };
        let certificates: Vec<CertificateDer<'_>> = if bytes.starts_with(&[0x30]) {
            vec![CertificateDer::from_slice(bytes)]
        } else {
            CertificateDer::pem_slice_iter(bytes).collect::<Result<_, _>>().map_err(|e| bad(e.to_string()))?
        };
        if certificates.is_empty() {
            return Err(bad("no certificate in it".to_owned()));
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|e| bad(e.to_string()))?;
        }
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// A client that sends what it is given to whom it is told, and of itself never a second time. (What it
/// had not begun to write when a kept connection turned out to be closed, it takes to another one.)
pub(super) fn builder(tls: ClientConfig) -> ClientBuilder {
    let identity = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .default_headers(identity)
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .tcp_nodelay(true)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_PER_HOST_MAX)
        .pool_idle_timeout(CONNECTION_IDLE_MAX)
}
