//! HTTP/1.1 by hand, one request to a connection, so that a test sees every byte and may stop at any. What never belongs here:
//! anything of agentwire.

use arena_tests::served::PATIENCE;
use serde_json::Value;
use std::{
    fmt::Write,
    io::{Error, ErrorKind, Result},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf},
    net::TcpStream,
    time::timeout,
};

/// A request that is yet to be made.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunked: bool,
}

/// An answer, whole.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// Its headers, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// Its body.
    pub(crate) body: Vec<u8>,
    /// From the request's first byte to the answer's last.
    pub(crate) took: Duration,
}

impl Request {
    pub(crate) fn new(method: &str, url: impl Into<String>) -> Self {
        let (method, url) = (method.to_owned(), url.into());
        Self { method, url, headers: Vec::new(), body: Vec::new(), chunked: false }
    }

    pub(crate) fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    pub(crate) fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With `Authorization: Bearer`, where there is a token.
    pub(crate) fn token(self, token: Option<&str>) -> Self {
        match token {
            Some(token) => self.header("Authorization", &format!("Bearer {token}")),
            None => self,
        }
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// In chunks, without saying how long it is.
    pub(crate) fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    fn host(&self) -> &str {
        let rest = self.url.strip_prefix("http://").expect("an http URL");
        rest.split(['/', '?']).next().expect("there is a first")
    }

    fn head(&self) -> Vec<u8> {
        let host = self.host();
        let path = &self.url["http://".len() + host.len()..];
        let mut head = format!("{} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n", self.method);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").expect("a string takes all");
        }
        if self.chunked {
            head.push_str("Transfer-Encoding: chunked\r\n");
        } else if !self.body.is_empty() || self.method == "POST" {
            write!(head, "Content-Length: {}\r\n", self.body.len()).expect("a string takes all");
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    fn framed(&self) -> Vec<u8> {
        if !self.chunked {
            return self.body.clone();
        }
        let mut framed = Vec::new();
        for part in self.body.chunks(100_000) {
            framed.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            framed.extend_from_slice(part);
            framed.extend_from_slice(b"\r\n");
        }
        framed.extend_from_slice(b"0\r\n\r\n");
        framed
    }

    /// Makes it and gives the connection, from which nothing was read yet.
    pub(crate) async fn open(&self) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(self.host()).await?;
        stream.write_all(&self.head()).await?;
        stream.write_all(&self.framed()).await?;
        Ok(stream)
    }

    /// Sends the head alone, waits for `100 Continue`, and only then sends the body, as curl does with a large one.
    pub(crate) async fn after_continue(self) -> Answer {
        let begun = Instant::now();
        let this = self.header("Expect", "100-continue");
        let mut stream = TcpStream::connect(this.host()).await.unwrap();
        stream.write_all(&this.head()).await.unwrap();
        let mut reader = Reader::new(&mut stream);
        let first = timeout(PATIENCE, reader.head()).await.expect("an answer in time").unwrap();
        if first.0 != 100 {
            let body = reader.body(&first.1).await.unwrap();
            return Answer { status: first.0, headers: first.1, body, took: begun.elapsed() };
        }
        let framed = this.framed();
        stream.write_all(&framed).await.unwrap();
        let mut reader = Reader::new(&mut stream);
        timeout(PATIENCE, reader.answer(&this.method, begun)).await.expect("an answer in time").unwrap()
    }

    /// Makes it and waits for the whole answer, which may come before all is sent.
    pub(crate) async fn try_send(self) -> Result<Answer> {
        let begun = Instant::now();
        let stream = TcpStream::connect(self.host()).await?;
        let (reading, mut writing): (ReadHalf<_>, WriteHalf<_>) = tokio::io::split(stream);
        let mut reader = Reader::new(reading);
        let exchange = async {
            let write = async {
                writing.write_all(&self.head()).await?;
                writing.write_all(&self.framed()).await
            };
            let (_, answer) = tokio::join!(write, reader.answer(&self.method, begun));
            answer
        };
        timeout(PATIENCE * 2, exchange).await.map_err(|_| Error::from(ErrorKind::TimedOut))?
    }

    /// The same where an answer must come.
    pub(crate) async fn send(self) -> Answer {
        let what = format!("{} {}", self.method, self.url);
        self.try_send().await.unwrap_or_else(|why| panic!("{what}: {why}"))
    }
}

/// Reads answers from a connection.
struct Reader<R> {
    stream: R,
    bytes: Vec<u8>,
}

type Head = (u16, Vec<(String, String)>);

impl<R: AsyncRead + Unpin> Reader<R> {
    fn new(stream: R) -> Self {
        Self { stream, bytes: Vec::new() }
    }

    /// Whether more came.
    async fn more(&mut self) -> Result<bool> {
        let mut part = vec![0; 65_536];
        let count = self.stream.read(&mut part).await?;
        self.bytes.extend_from_slice(&part[..count]);
        Ok(count > 0)
    }

    async fn up_to(&mut self, end: &[u8]) -> Result<Vec<u8>> {
        loop {
            if let Some(at) = self.bytes.windows(end.len()).position(|part| part == end) {
                let rest = self.bytes.split_off(at + end.len());
                let mut taken = std::mem::replace(&mut self.bytes, rest);
                taken.truncate(at);
                return Ok(taken);
            }
            if !self.more().await? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn exactly(&mut self, count: usize) -> Result<Vec<u8>> {
        while self.bytes.len() < count {
            if !self.more().await? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.bytes.split_off(count);
        Ok(std::mem::replace(&mut self.bytes, rest))
    }

    async fn head(&mut self) -> Result<Head> {
        let head = String::from_utf8_lossy(&self.up_to(b"\r\n\r\n").await?).into_owned();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        Ok((status.ok_or(ErrorKind::InvalidData)?, headers.collect()))
    }

    async fn body(&mut self, headers: &[(String, String)]) -> Result<Vec<u8>> {
        let header =
            |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        if header("transfer-encoding").is_some() {
            let mut body = Vec::new();
            loop {
                let line = String::from_utf8_lossy(&self.up_to(b"\r\n").await?).into_owned();
                let count = usize::from_str_radix(line.trim(), 16).map_err(|_| ErrorKind::InvalidData)?;
                body.extend(self.exactly(count).await?);
                self.up_to(b"\r\n").await?;
                if count == 0 {
                    return Ok(body);
                }
            }
        }
        if let Some(length) = header("content-length") {
            return self.exactly(length.parse().map_err(|_| ErrorKind::InvalidData)?).await;
        }
        while self.more().await? {}
        Ok(std::mem::take(&mut self.bytes))
    }

    async fn answer(&mut self, method: &str, begun: Instant) -> Result<Answer> {
        let (status, headers) = loop {
            let head = self.head().await?;
            if head.0 >= 200 {
                break head;
            }
        };
        let without = status == 204 || method == "HEAD";
        let body = if without { Vec::new() } else { self.body(&headers).await? };
        Ok(Answer { status, headers, body, took: begun.elapsed() })
    }
}

impl Answer {
    /// With this status, or the test ends with what it says instead.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        let said: String = self.text().chars().take(500).collect();
        assert_eq!(self.status, status, "answered {}: {said}", self.status);
        self
    }

    /// A failure with this status and one line of plain text that says why.
    #[track_caller]
    pub(crate) fn fails(self, status: u16) -> Self {
        let answer = self.is(status);
        let text = answer.text();
        assert!(!text.trim().is_empty(), "{status} says nothing");
        assert_eq!(text.trim_end_matches('\n').lines().count(), 1, "{status} in one line: {text:?}");
        let kind = answer.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("text/plain"), "{status} is plain text, and not {kind:?}");
        answer
    }

    /// The same, after a pause of at least this long.
    #[track_caller]
    pub(crate) fn fails_after(self, status: u16, pause: Duration) -> Self {
        let answer = self.fails(status);
        assert!(answer.took >= pause, "{status} after {:?} already: {}", answer.took, answer.text());
        answer
    }

    /// A header's value; names in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|why| panic!("no JSON ({why}): {:?}", self.text()))
    }
}
