//! Programs that a test starts: agents written in any language, each on a port of loopback, and the arena's own commands.

use crate::served::{PATIENCE, binary, poll};
use std::{
    ffi::OsStr,
    net::{TcpListener, TcpStream},
    process::{Child, Command, ExitStatus, Stdio},
    time::Instant,
};

/// A program that listens. It is killed when dropped.
pub struct Program {
    child: Child,
    /// Where it plays.
    pub url: String,
}

/// A port of loopback that was free a moment ago, for programs that cannot be asked which one they got.
///
/// # Panics
/// Where there is none.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

impl Program {
    /// Starts it and waits until it takes connections on its port.
    ///
    /// # Panics
    /// Where it ends before that.
    pub fn start(command: &mut Command, port: u16) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the program starts");
        let mut program = Self { child, url: format!("http://127.0.0.1:{port}/play") };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = program.child.try_wait().expect("it can be waited for") {
                panic!("{command:?} ended with {status} before it listened on {port}");
            }
            assert!(begun.elapsed() < PATIENCE, "{command:?} does not listen on {port}");
            poll();
        }
        program
    }

    /// That it still runs.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub struct Printed {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Printed {
    /// The exit code.
    ///
    /// # Panics
    /// Where a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("it was ended by a signal: {self:?}"))
    }
}

/// Runs the arena's binary with these arguments, away from any settings' file, and waits for its end.
///
/// # Panics
/// Where it cannot be started.
pub fn arena<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Printed {
    let mut command = Command::new(binary());
    command.args(arguments).env("NO_COLOR", "1").current_dir(std::env::temp_dir()).stdin(Stdio::null());
    let output = command.output().expect("the binary starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Printed { status: output.status, out: text(&output.stdout), err: text(&output.stderr) }
}
