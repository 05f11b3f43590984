//! Which operation a request is for, by its method and its path (agentwire, *Operations*).

use super::failure::Failure;
use axum::http::Method;

/// The version of the transport that is served.
const VERSION: &str = "v2";

/// An operation, with the parts of the path that it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation<'a> {
    /// `POST /v2/s`.
    Create,
    /// `POST <link>/join`.
    Join { address: &'a str },
    /// `POST <me>/join`.
    Rejoin { address: &'a str, secret: &'a str },
    /// `POST <me>`.
    Send { address: &'a str, secret: &'a str },
    /// `POST <me>/leave`.
    Leave { address: &'a str, secret: &'a str },
    /// `GET <me>`.
    Receive { address: &'a str, secret: &'a str },
    /// `GET <me>/<n>`.
    Fetch { address: &'a str, secret: &'a str, n: &'a str },
    /// `GET <link>/log`.
    Read { address: &'a str },
    /// `GET <link>/log/<n>`.
    FetchRead { address: &'a str, n: &'a str },
}

/// Whether a path is one of the transport's, in whatever version.
pub(super) fn is_versioned(path: &str) -> bool {
    let first = path.strip_prefix('/').and_then(|path| path.split('/').next()).unwrap_or_default();
    let digits = first.strip_prefix('v').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl<'a> Operation<'a> {
    /// Reads a path.
    ///
    /// # Errors
    /// 410 for another version, 404 where there is no such operation (CHOICES-agentwire 15 to 19).
    pub(super) fn parse(method: &Method, path: &'a str) -> Result<Self, Failure> {
        let mut parts = path.strip_prefix('/').unwrap_or_default().split('/');
        if parts.next() != Some(VERSION) {
            return Err(Failure::version());
        }
        let parts: Vec<&str> = parts.collect();
        let operation = match (method.as_str(), parts.as_slice()) {
            ("POST", ["s"]) => Self::Create,
            ("POST", ["s", address, "join"]) => Self::Join { address },
            ("GET", ["s", address, "log"]) => Self::Read { address },
            ("GET", ["s", address, "log", n]) => Self::FetchRead { address, n },
            // They stand where a secret would, or a number.
            (_, ["s", _, "join" | "log", ..]) | ("GET", ["s", _, _, "join" | "leave"]) => {
                return Err(Failure::absent("operation"));
            }
            ("POST", ["s", address, secret, "join"]) => Self::Rejoin { address, secret },
            ("POST", ["s", address, secret, "leave"]) => Self::Leave { address, secret },
            ("POST", ["s", address, secret]) => Self::Send { address, secret },
            ("GET", ["s", address, secret]) => Self::Receive { address, secret },
            ("GET", ["s", address, secret, n]) => Self::Fetch { address, secret, n },
            _ => return Err(Failure::absent("operation")),
        };
        Ok(operation)
    }

    /// Whether it answers only after a pause where it fails (agentwire, *Errors*: a failed receive, read or fetch).
    pub(super) fn pauses(&self) -> bool {
        matches!(self, Self::Receive { .. } | Self::Fetch { .. } | Self::Read { .. } | Self::FetchRead { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<'a>(method: &Method, path: &'a str) -> Option<Operation<'a>> {
        Operation::parse(method, path).ok()
    }

    #[test]
    fn each_operation_has_its_method_and_its_path() {
        let (get, post) = (&Method::GET, &Method::POST);
        let (address, secret, n) = ("a", "b", "7");
        assert_eq!(parse(post, "/v2/s"), Some(Operation::Create));
        assert_eq!(parse(post, "/v2/s/a/join"), Some(Operation::Join { address }));
        assert_eq!(parse(get, "/v2/s/a/log"), Some(Operation::Read { address }));
        assert_eq!(parse(get, "/v2/s/a/log/7"), Some(Operation::FetchRead { address, n }));
        assert_eq!(parse(get, "/v2/s/a/b"), Some(Operation::Receive { address, secret }));
        assert_eq!(parse(post, "/v2/s/a/b"), Some(Operation::Send { address, secret }));
        assert_eq!(parse(post, "/v2/s/a/b/join"), Some(Operation::Rejoin { address, secret }));
        assert_eq!(parse(post, "/v2/s/a/b/leave"), Some(Operation::Leave { address, secret }));
        assert_eq!(parse(get, "/v2/s/a/b/7"), Some(Operation::Fetch { address, secret, n }));
        for path in [
            "/v2",
            "/v2/s",
            "/v2/t",
            "/v2/s/a",
            "/v2/s/a/join",
            "/v2/s/a/b/join",
            "/v2/s/a/b/leave",
            "/v2/s/a/b/1/2",
        ] {
            assert_eq!(parse(get, path), None, "GET {path}");
        }
        for path in ["/v2", "/v2/s/a", "/v2/s/a/log", "/v2/s/a/log/1", "/v2/s/a/b/1", "/v2/s/a/join/1"] {
            assert_eq!(parse(post, path), None, "POST {path}");
        }
        assert_eq!(parse(&Method::PUT, "/v2/s/a/b"), None);
    }

    #[test]
    fn a_version_is_a_v_and_digits_and_only_one_is_served() {
        for path in ["/v1", "/v2/s", "/v02/s", "/v10/x"] {
            assert!(is_versioned(path), "{path}");
        }
        for path in ["/v", "/v/s", "/vx/s", "/v2x/s", "/V2/s", "/v-1/s", "/", "", "/s/v2"] {
            assert!(!is_versioned(path), "{path}");
        }
        for path in ["/v1/s", "/v02/s", "/v22/s"] {
            assert_eq!(Operation::parse(&Method::POST, path), Err(Failure::version()), "{path}");
        }
    }
}
