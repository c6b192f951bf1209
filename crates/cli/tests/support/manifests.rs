//! Comparing trees and manifests by the shared vectors' own program.
//!
//! In: two trees or manifests, and the program's options. Out: a panic with what differs.
//! **Invariant:** each comparison is a process of its own. Only Python's start and its imports are
//! shared, as they took longer than most comparisons: a test has one interpreter, which forks.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Loads the program named by the first argument, then runs its `main` in a child for each line of
/// arguments (JSON), and answers by a line with the exit code and all output.
const SERVER: &str = r#"
import importlib.util, json, os, sys, traceback
spec = importlib.util.spec_from_file_location("manifest", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
for line in sys.stdin:
    output, end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(end, 1)
            os.dup2(end, 2)
            sys.argv[1:] = json.loads(line)
            code = program.main() or 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
            print(ended.code)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(end)
    with open(output, "rb") as file:
        text = file.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([code, text]), flush=True)
"#;

thread_local! {
    // tests are threads: one that compares does not wait for another
    static INTERPRETER: RefCell<Option<Interpreter>> = const { RefCell::new(None) };
}

/// A Python that has loaded the program.
struct Interpreter {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Interpreter {
    fn start(program: &Path) -> Self {
        let mut child = Command::new("python3")
            .args(["-B", "-c", SERVER])
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        Self {
            requests: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
        }
    }

    /// Runs the program; returns its exit code and its output.
    fn run(&mut self, arguments: &[&str]) -> (i64, String) {
        let request = serde_json::to_string(arguments).expect("JSON");
        let requests = self.requests.as_mut().expect("until it is dropped");
        writeln!(requests, "{request}").expect("python3 reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("an answer");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // the end of its input ends it
        self.requests = None;
        let _ = self.child.wait();
    }
}

/// Compares two trees or manifests with the vectors' own program; panics with the differences.
pub fn compare(vectors: &Path, options: &[&str], a: &Path, b: &Path) {
    let paths = [a, b].map(|path| path.to_str().expect("a path of UTF-8"));
    let arguments = [&["--compare"], options, &paths].concat();
    let (code, output) = INTERPRETER.with_borrow_mut(|interpreter| {
        interpreter
            .get_or_insert_with(|| Interpreter::start(&vectors.join("manifest.py")))
            .run(&arguments)
    });
    assert!(
        code == 0,
        "{} and {} differ:\n{output}",
        a.display(),
        b.display()
    );
}
