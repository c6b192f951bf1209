//! The project's habits in one place: `cargo xtask VERB`. CI calls the same verbs.
//!
//! Each verb is a file. **Invariant:** a verb prints what it runs and ends with a non-zero exit
//! code if anything failed.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for the terminal"
)]

mod check;
mod coverage;
mod cross;
mod demo;
mod features;
mod forge;
mod fuzz;
mod golden;
mod licences;
mod publish;
mod schedules;
mod site;
mod test;
mod toolchains;

use std::process::ExitCode;

use xtask::{python, run};

const HELP: &str = "\
usage: cargo xtask VERB [ARGUMENTS]      (or ./x VERB, which installs what is missing first)

  demo [DIR]          build an image of DIR (default: /usr/share/doc), mount it, compare all files
  check               formatting, clippy, crate arrows, house rules, licences
  tidy                the house rules alone (part of check)
  doc                 the documentation of every crate, warnings denied
  features            the library with each of its Cargo features alone
  package [ARGS]      every crate that is published, packed
  schedules [ARGS]    the block cache and the permits, in many orders of their threads' steps
  msrv                everything, checked by the oldest Rust that README names
  cross [--all] [TARGET]...   tests of the reading crates on s390x (big-endian), aarch64 and i686,
                      by qemu; with --all on all systems, Windows by wine among them, all tests
  test [ARGS]         check that everything works; ARGS, which choose tests, are cargo test's
  coverage [ARGS]     lines of each crate that the tests run; ARGS, as those of test, choose some
  python [ARGS]       the Python package: tests (ARGS are pytest's), doctests, types, style
  bench [SET...]      what ours and the peers at hand take, in turn (bench --help)
  dist [OPTIONS]      the static program and the .deb, tried out (dist --help)
  site                the documentation as a site, by mdBook, which is compiled if it is missing
  forge               workflows and scripts, by actionlint and shellcheck
  golden [--bless]    compare (or record) digests and dumps of images of a fixed tree
  fuzz [TARGET] [SECONDS]   mutate images and read them (default: 60 seconds); with a target of
                      fuzz/, led by coverage
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let verb = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let result = match verb.as_str() {
        "demo" => demo::demo(rest.first().map(String::as_str)),
        "check" => check::check(),
        "tidy" => check::tidy(),
        "doc" => publish::doc(),
        "features" => features::features(),
        "package" => publish::package(&rest),
        "schedules" => schedules::schedules(&rest),
        "msrv" => toolchains::msrv(),
        "cross" => cross::cross(&rest),
        "test" => test::test(&rest),
        "coverage" => coverage::coverage(&rest),
        "python" => python::python(&rest),
        "bench" => run::cargo_with(
            "bench",
            &["run", "--release", "--package", "sinterfs-bench", "--"],
            &rest,
        ),
        "dist" => run::cargo_with(
            "dist",
            &["run", "--quiet", "--package", "sinterfs-dist", "--"],
            &rest,
        ),
        "forge" => forge::forge(),
        "site" => site::site(),
        "golden" => golden::golden(rest.iter().any(|arg| arg == "--bless")),
        "fuzz" => fuzz::fuzz(&rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {verb}: {message}");
            ExitCode::FAILURE
        }
    }
}
