//! A web server that counts and that fails on purpose.
//!
//! In: files, and what to do wrong with which request. Out: the requests that came, each with its
//! wave: one more than the latest wave of the requests that had been answered when it came. So the
//! number of waves is the number of round trips that depend on each other.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What to do with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// To answer it.
    None,
    /// To answer with this status, and with `Retry-After` if a time is given.
    Status(u16, Option<u64>),
    /// To answer with this status and these lines of headers, and without a body.
    Answer(u16, String),
    /// To close the connection after this many bytes of the body.
    Truncate(usize),
    /// To send half of the body, and then nothing for this time.
    Stall(Duration),
    /// To answer with the whole file.
    NoRanges,
    /// To name another range than the one that is sent.
    WrongRange,
    /// To send more bytes than announced.
    More,
    /// To answer with another entity tag.
    OtherEtag,
    /// To close the connection without an answer.
    Close,
    /// To send nothing for this time, and then to close the connection.
    Silent(Duration),
    /// To send the body in pieces of so many bytes, with this pause before each.
    Trickle(usize, Duration),
    /// To flip a bit in the middle of the body.
    Flip,
    /// To send the body in chunks, without its length, with this many bytes after it.
    Chunked(usize),
    /// To announce and send this many bytes more than the range has.
    Longer(usize),
    /// To send at most so many bytes of the range, with or without the length of the file (`*`).
    Pieces(usize, bool),
    /// To send this `Content-Range`; none if it is empty.
    ContentRange(&'static str),
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// Its number, from 0 on.
    pub number: usize,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes of the file that were asked for.
    pub range: Option<(u64, u64)>,
    /// The wave, from 1 on.
    pub wave: u32,
}

type Plan = Box<dyn Fn(&HttpRequest) -> Fault + Send + Sync>;

/// A server on a port of its own.
pub struct HttpServer {
    address: SocketAddr,
    state: Arc<ServerState>,
}

/// The content of a file and its entity tag.
type ServedFile = (Arc<Vec<u8>>, String);

struct ServerState {
    files: Mutex<HashMap<String, ServedFile>>,
    log: Mutex<Log>,
    plan: Mutex<Plan>,
    delay: Mutex<Duration>,
    ignores_conditions: Mutex<bool>,
}

#[derive(Default)]
struct Log {
    requests: Vec<HttpRequest>,
    /// The latest wave that was answered.
    answered: u32,
    /// How often the requests were taken: an answer to an earlier one opens no wave.
    taken: u64,
}

impl std::fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HttpServer({})", self.address)
    }
}

fn start_thread(work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().spawn(work).unwrap();
}

impl HttpServer {
    /// Starts without files.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(ServerState {
            files: Mutex::default(),
            log: Mutex::default(),
            plan: Mutex::new(Box::new(|_| Fault::None)),
            delay: Mutex::new(Duration::from_millis(20)),
            ignores_conditions: Mutex::new(false),
        });
        let served = Arc::clone(&state);
        start_thread(move || {
            for stream in listener.incoming() {
                let (Ok(stream), state) = (stream, Arc::clone(&served)) else {
                    continue;
                };
                start_thread(move || serve(&stream, &state));
            }
        });
        Self { address, state }
    }

    /// Sets the content of a file (path with a leading slash) and its entity tag; without quotes an
    /// empty one is not sent.
    pub fn put(&self, path: &str, content: impl Into<Vec<u8>>, etag: &str) {
        let file = (Arc::new(content.into()), etag.to_owned());
        self.state
            .files
            .lock()
            .unwrap()
            .insert(path.to_owned(), file);
    }

    /// Decides what to do with each request from now on.
    pub fn plan(&self, plan: impl Fn(&HttpRequest) -> Fault + Send + Sync + 'static) {
        *self.state.plan.lock().unwrap() = Box::new(plan);
    }

    /// Takes this time for each answer.
    pub fn delay(&self, delay: Duration) {
        *self.state.delay.lock().unwrap() = delay;
    }

    /// Ignores `If-Match`, as simple servers do.
    pub fn ignore_conditions(&self) {
        *self.state.ignores_conditions.lock().unwrap() = true;
    }

    /// Returns the URL of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests so far, and forgets them; the next one is in wave 1.
    pub fn take(&self) -> Vec<HttpRequest> {
        let mut log = self.state.log.lock().unwrap();
        let taken = log.taken + 1;
        let ended = Log {
            taken,
            ..Log::default()
        };
        std::mem::replace(&mut *log, ended).requests
    }
}

/// A delay for tests that count waves: the requests of one are sent before the first of them is
/// answered, on a busy machine, too.
pub const WAVE: Duration = Duration::from_millis(200);

/// Returns the number of waves of requests, between which the server waited for [`WAVE`].
pub fn waves(requests: &[HttpRequest]) -> u32 {
    requests
        .iter()
        .map(|request| request.wave)
        .max()
        .unwrap_or(0)
}

/// Returns the bytes that requests asked for.
pub fn bytes(requests: &[HttpRequest]) -> u64 {
    let ranges = requests.iter().filter_map(|request| request.range);
    ranges.map(|(start, end)| end - start).sum()
}

fn serve(stream: &TcpStream, state: &ServerState) {
    let mut input = BufReader::new(stream);
    while let Some((method, path, headers)) = head(&mut input) {
        let header = |name: &str| {
            let found = headers.iter().find(|(header, _)| header == name);
            found.map(|(_, value)| value.as_str())
        };
        let length = header("content-length").map_or(0, |value| value.parse().unwrap());
        let mut body = vec![0; length];
        if input.read_exact(&mut body).is_err() {
            return;
        }
        let plain = path.split('?').next().unwrap();
        let file = {
            let files = state.files.lock().unwrap();
            files.get(&path).or_else(|| files.get(plain)).cloned()
        };
        let total = file.as_ref().map_or(0, |(content, _)| content.len() as u64);
        let range = header("range").and_then(|value| parse_range(value, total));
        let (request, taken) = {
            let mut log = state.log.lock().unwrap();
            let request = HttpRequest {
                number: log.requests.len(),
                method,
                path,
                range,
                wave: log.answered + 1,
                headers: headers.clone(),
            };
            log.requests.push(request.clone());
            (request, log.taken)
        };
        let fault = (state.plan.lock().unwrap())(&request);
        thread::sleep(*state.delay.lock().unwrap());
        let conditional = !*state.ignores_conditions.lock().unwrap();
        let condition = header("if-match").filter(|_| conditional);
        let goes_on = answer(stream, &request, file.as_ref(), condition, &fault, || {
            let mut log = state.log.lock().unwrap();
            if log.taken == taken {
                log.answered = log.answered.max(request.wave);
            }
        });
        if !goes_on {
            let _ = stream.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

type Head = (String, String, Vec<(String, String)>);

fn head(input: &mut impl BufRead) -> Option<Head> {
    let mut line = String::new();
    input.read_line(&mut line).ok().filter(|&count| count > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|&count| count > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            return Some((method, path, headers));
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
}

fn parse_range(value: &str, total: u64) -> Option<(u64, u64)> {
    let (start, end) = value.strip_prefix("bytes=")?.split_once('-')?;
    if start.is_empty() {
        return Some((total.saturating_sub(end.parse().ok()?), total));
    }
    let end = end.parse().map_or(total, |last: u64| last + 1);
    Some((start.parse().ok()?, end.min(total)))
}

/// Answers; returns whether the connection goes on. `answered` is called before the last byte.
fn answer(
    mut stream: &TcpStream,
    request: &HttpRequest,
    file: Option<&(Arc<Vec<u8>>, String)>,
    condition: Option<&str>,
    fault: &Fault,
    answered: impl Fn(),
) -> bool {
    let mut plain = |status: u16, more: &str| {
        answered();
        let head = format!("HTTP/1.1 {status} Planned\r\nContent-Length: 0\r\n{more}\r\n");
        stream.write_all(head.as_bytes()).is_ok()
    };
    match fault {
        Fault::Close => return false,
        Fault::Silent(time) => {
            answered();
            thread::sleep(*time);
            return false;
        }
        Fault::Status(status, after) => {
            let after = after.map(|after| format!("Retry-After: {after}\r\n"));
            return plain(*status, &after.unwrap_or_default());
        }
        Fault::Answer(status, headers) => return plain(*status, headers),
        _ => {}
    }
    let Some((content, etag)) = file else {
        return plain(404, "");
    };
    let unless = request
        .headers
        .iter()
        .find(|(name, _)| name == "if-none-match");
    if unless.is_some_and(|(_, known)| known == etag) {
        return plain(304, "");
    }
    if condition.is_some_and(|wanted| wanted != etag) {
        return plain(412, "");
    }
    let range = request.range.filter(|_| *fault != Fault::NoRanges);
    let (start, end) = range.unwrap_or((0, content.len() as u64));
    if start >= end {
        return plain(416, "");
    }
    let end = match fault {
        Fault::Pieces(most, _) if range.is_some() => end.min(start.saturating_add(*most as u64)),
        _ => end,
    };
    let body = &content[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()];
    let mut head = String::from(if range.is_some() {
        "HTTP/1.1 206 Partial Content\r\n"
    } else {
        "HTTP/1.1 200 OK\r\n"
    });
    head += &match fault {
        Fault::Chunked(_) => "Transfer-Encoding: chunked\r\n".to_owned(),
        Fault::Longer(more) => format!("Content-Length: {}\r\n", body.len() + more),
        _ => format!("Content-Length: {}\r\n", body.len()),
    };
    head += &match (fault, range) {
        (_, None) | (Fault::ContentRange(""), _) => String::new(),
        (Fault::ContentRange(said), _) => format!("Content-Range: {said}\r\n"),
        (Fault::Pieces(_, false), _) => format!("Content-Range: bytes {start}-{}/*\r\n", end - 1),
        _ => {
            let moved = u64::from(*fault == Fault::WrongRange);
            let (first, last) = (start + moved, end - 1 + moved);
            format!("Content-Range: bytes {first}-{last}/{}\r\n", content.len())
        }
    };
    if *fault == Fault::OtherEtag {
        head += "ETag: \"other\"\r\n";
    } else if !etag.is_empty() {
        head += &format!("ETag: {etag}\r\n");
    }
    head += "\r\n";
    if stream.write_all(head.as_bytes()).is_err() || request.method == "HEAD" {
        answered();
        return request.method == "HEAD";
    }
    send_body(stream, body, fault, answered)
}

/// Sends a body; returns whether the connection goes on.
fn send_body(mut stream: &TcpStream, body: &[u8], fault: &Fault, answered: impl Fn()) -> bool {
    let mut send = |bytes: &[u8]| stream.write_all(bytes).is_ok();
    match fault {
        Fault::Truncate(count) => {
            send(&body[..(*count).min(body.len())]);
            answered();
            false
        }
        Fault::Stall(time) => {
            send(&body[..body.len() / 2]);
            answered();
            thread::sleep(*time);
            false
        }
        Fault::More => {
            answered();
            send(body);
            send(b"more than was announced");
            false
        }
        Fault::Trickle(piece, pause) => {
            answered();
            body.chunks(*piece).all(|piece| {
                thread::sleep(*pause);
                send(piece)
            })
        }
        Fault::Flip => {
            let mut flipped = body.to_vec();
            flipped[body.len() / 2] ^= 4;
            answered();
            send(&flipped)
        }
        Fault::Longer(more) => {
            answered();
            send(body) && send_zeros(*more, send)
        }
        Fault::Chunked(more) => {
            answered();
            let mut chunk = |bytes: &[u8]| {
                send(format!("{:x}\r\n", bytes.len()).as_bytes()) && send(bytes) && send(b"\r\n")
            };
            body.chunks(10_000).all(&mut chunk) && send_zeros(*more, &mut chunk) && chunk(b"")
        }
        _ => {
            let (most, last) = body.split_at(body.len() - 1);
            let sent = send(most);
            answered();
            sent && send(last)
        }
    }
}

/// Sends zero bytes in pieces; returns whether all were taken.
fn send_zeros(count: usize, mut send: impl FnMut(&[u8]) -> bool) -> bool {
    let piece = [0; 16 << 10];
    let mut left = count;
    while left > 0 {
        let now = left.min(piece.len());
        if !send(&piece[..now]) {
            return false;
        }
        left -= now;
    }
    true
}
