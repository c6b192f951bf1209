//! `sinterfs-compat`: the package that puts sinter in the place of the tools whose options it
//! takes.
//!
//! Enters packaging/names.txt; leaves a package of two scripts. **Invariant:** a tool that is
//! replaced is kept beside its place by a diversion, also if it is installed later, and gets its
//! place back when the package is removed: [`proof`] installs and removes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::debian::{self, Package};
use super::names;
use super::release::Release;
use super::tree;
use xtask::run::{self, Outcome};

const DESCRIPTION: &str = "\
SinterFS in the place of mksquashfs, mkfs.erofs, mkdwarfs and others
 Makes the names of other tools for file system images, such as mksquashfs,
 unsquashfs, mkfs.erofs, mkdwarfs, dwarfs and genisoimage, call sinter, which
 takes their options. Tools that are installed are kept with the name
 NAME.original, can be chosen by update-alternatives, and get their names back
 when this package is removed.";

const INSTALL: &str = "#!/bin/sh
set -e
[ \"$1\" = configure ] || exit 0
for path in @paths@; do
  name=${path##*/}
  case $path in
  # where /sbin is a symlink, dpkg may know the other name
  /sbin/*) if dpkg-query --search \"/usr$path\" >/dev/null 2>&1; then path=/usr$path; fi ;;
  esac
  dpkg-divert --quiet --package sinterfs-compat --divert \"$path.original\" --rename \\
    --add \"$path\"
  update-alternatives --quiet --install \"$path\" \"$name\" \"/usr/lib/sinterfs/names/$name\" 50
  # a symlink would lead to what replaces the tool beside it
  if [ -e \"$path.original\" ] && [ ! -L \"$path.original\" ]; then
    update-alternatives --quiet --install \"$path\" \"$name\" \"$path.original\" 10
  fi
done
";

const REMOVE: &str = "#!/bin/sh
set -e
[ \"$1\" = remove ] || exit 0
diverted=$(LC_ALL=C dpkg-divert --list |
  sed -n 's/^diversion of \\(.*\\) to .* by sinterfs-compat$/\\1/p')
for path in $diverted; do
  if update-alternatives --query \"${path##*/}\" >/dev/null 2>&1; then
    update-alternatives --quiet --remove-all \"${path##*/}\"
  fi
  dpkg-divert --quiet --package sinterfs-compat --divert \"$path.original\" --rename \\
    --remove \"$path\"
done
";

/// Runs in a copy of this system: $0 is its root; $1, $2 and the like are paths of tools.
const PROOF: &str = "set -eu
state() {
  for path in \"$@\"; do
    if [ -e \"$path\" ]; then sha256sum \"$path\"; readlink \"$path\" || :
    else echo \"$path: none\"; fi
  done
}
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
state \"$@\" >/before
dpkg --install /sinterfs.deb /compat.deb >/log 2>&1 || { cat /log >&2; exit 1; }
for path in \"$@\"; do
  help=$(\"$path\" --help)
  case $help in
  \"Usage: ${path##*/} \"*) ;;
  *) echo \"$path is another program: $help\" >&2; exit 1 ;;
  esac
done
dpkg --remove sinterfs-compat >/log 2>&1 || { cat /log >&2; exit 1; }
state \"$@\" >/after
diff /before /after >&2
for path in \"$@\"; do
  if [ -e \"$path.original\" ]; then echo \"$path.original is left\" >&2; exit 1; fi
done
grep -c '^[0-9a-f]* ' /before || :
";

/// Makes the package.
pub fn package(release: &Release, licences: &str) -> Result<PathBuf, String> {
    let paths = names::paths().collect::<Vec<_>>().join(" ");
    let more = [
        ("postinst", INSTALL.replace("@paths@", &paths)),
        ("prerm", REMOVE.to_owned()),
    ];
    let depends = format!("Depends: sinterfs (= {})\n", release.version);
    let package = Package {
        name: "sinterfs-compat",
        section: "utils",
        fields: &depends,
        description: DESCRIPTION,
        more: &more,
    };
    debian::pack(release, &package, |root| {
        tree::documentation(release, licences, root, package.name)
    })
}

/// Installs the package into a copy of this system in memory, calls each tool, removes the package,
/// and compares every tool with what was there before.
pub fn proof(program: &Path, compat: &Path) -> Outcome {
    const COPY: &str = "set -eu
        work=$(mktemp -d)
        trap 'umount --recursive \"$work\"; rmdir \"$work\"' EXIT
        mount -t tmpfs none \"$work\"
        mkdir \"$work\"/up \"$work\"/work \"$work\"/root
        mount -t overlay overlay \"$work\"/root \\
          -o \"lowerdir=/,upperdir=$work/up,workdir=$work/work\" || { echo no copy; exit 0; }
        mount --rbind /dev \"$work\"/root/dev; mount -t proc proc \"$work\"/root/proc
        cp \"$1\" \"$work\"/root/sinterfs.deb
        cp \"$2\" \"$work\"/root/compat.deb
        script=$3
        shift 3
        chroot \"$work\"/root sh -c \"$script\" sh \"$@\"";
    if run::output(Command::new("id").arg("-u"))?.trim() != "0" {
        println!("== sinterfs-compat: not installed anywhere: that needs root");
        return Ok(());
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", COPY, "sh"]);
    unshare
        .args([program, compat])
        .arg(PROOF)
        .args(names::paths());
    let printed = run::output(&mut unshare)?;
    match printed.trim() {
        "no copy" => println!("== sinterfs-compat: not installed: no overlayfs on / here"),
        replaced => println!(
            "== sinterfs-compat: {} names called sinter, and after its removal {replaced} tools of \
             others are back",
            names::paths().count()
        ),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_of_the_shell() {
        let is_script = |script: &str| {
            let mut sh = Command::new("sh");
            run::output(sh.args(["-n", "-c", script]))
        };
        for script in [INSTALL, REMOVE, PROOF] {
            assert_eq!(is_script(script), Ok(String::new()));
        }
    }
}
