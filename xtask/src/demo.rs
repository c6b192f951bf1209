//! `demo`: the first thing a newcomer runs: a real image of a real directory, mounted and read.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::run::{self, Outcome, output, run};

/// Builds an image of a directory, shows it, mounts it, compares every file, unmounts.
pub fn demo(directory: Option<&str>) -> Outcome {
    let source = directory.map_or_else(default_directory, PathBuf::from);
    let sinter = run::sinter()?;
    let work = run::target().join("demo");
    let (image, mountpoint) = (work.join("demo.dwarfs"), work.join("mnt"));
    std::fs::create_dir_all(&mountpoint).map_err(|e| format!("{}: {e}", mountpoint.display()))?;

    run(
        &format!("sinter build {} -o {}", source.display(), image.display()),
        Command::new(&sinter)
            .arg("build")
            .arg(&source)
            .arg("-o")
            .arg(&image)
            .arg("--force"),
    )?;
    run("sinter info", Command::new(&sinter).arg("info").arg(&image))?;
    run(
        &format!("sinter mount {} {}", image.display(), mountpoint.display()),
        Command::new(&sinter)
            .arg("mount")
            .arg(&image)
            .arg(&mountpoint),
    )?;
    let compared = compare(&source, &mountpoint);
    run(
        "sinter umount",
        Command::new(&sinter).arg("umount").arg(&mountpoint),
    )?;
    compared?;
    println!(
        "demo: the mount holds what {} holds; the image is {}",
        source.display(),
        image.display()
    );
    Ok(())
}

fn default_directory() -> PathBuf {
    // minimal systems have an empty /usr/share/doc
    ["/usr/share/doc", "/usr/share", "/etc"]
        .into_iter()
        .map(PathBuf::from)
        .find(|dir| {
            dir.read_dir()
                .is_ok_and(|mut entries| entries.next().is_some())
        })
        .unwrap_or_else(run::root)
}

fn compare(source: &Path, mountpoint: &Path) -> Outcome {
    println!(
        "== diff -r --no-dereference {} {}",
        source.display(),
        mountpoint.display()
    );
    let mut diff = Command::new("diff");
    diff.args(["-r", "--no-dereference"])
        .arg(source)
        .arg(mountpoint);
    print!("{}", output(&mut diff)?);
    let first = first_text(mountpoint).ok_or("the mounted image has no text file")?;
    println!("== head of {}", first.display());
    let text = std::fs::read(&first).map_err(|e| e.to_string())?;
    let shown: String = String::from_utf8_lossy(&text)
        .lines()
        .take(5)
        .map(|l| format!("   {l}\n"))
        .collect();
    print!("{shown}");
    Ok(())
}

/// Finds a file that a person can read.
fn first_text(dir: &Path) -> Option<PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(dir)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .filter(|path| !path.is_symlink())
        .collect();
    entries.sort();
    let is_text = |path: &&PathBuf| {
        path.is_file() && std::fs::read_to_string(path).is_ok_and(|text| !text.trim().is_empty())
    };
    entries.iter().find(is_text).cloned().or_else(|| {
        entries
            .iter()
            .filter(|path| path.is_dir())
            .find_map(|d| first_text(d))
    })
}
