//! The modules of one crate and which file uses names of which other.
//!
//! Enters the files of a crate with their tokens; leaves [`Uses`]: pairs of files with one name
//! each. A path counts where it ends: a name that a parent only re-exports belongs to the file that
//! defines it. `mod child;` and `pub use child::Name;` alone are no use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::SourceFile;

/// Which file uses which other, with one of the names.
pub type Uses = BTreeMap<(PathBuf, PathBuf), String>;

/// A path in code, as written.
type Segments = Vec<String>;

/// A module: a file of its own, or inline in one.
#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    parent: usize,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    /// By the name that each brings into scope.
    imports: BTreeMap<String, Import>,
    globs: Vec<Segments>,
    /// Paths and plain names in code outside `use`.
    paths: BTreeSet<Segments>,
}

#[derive(Debug)]
struct Import {
    path: Segments,
    is_reexport: bool,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
enum PathTarget {
    Module(usize),
    /// An item that this module defines.
    Item(usize),
}

/// Names that were already looked up on the way, by module: imports may lead back to themselves.
type Seen = BTreeSet<(usize, String)>;

/// Finds the uses between files of a crate, from its root file (`lib.rs` or `main.rs`) on.
pub fn uses(files: &[&SourceFile], root: &Path) -> Uses {
    let mut tree = ModuleTree {
        files,
        modules: Vec::new(),
    };
    tree.add_file(root, 0);
    tree.uses()
}

struct ModuleTree<'a> {
    files: &'a [&'a SourceFile],
    modules: Vec<Module>,
}

impl ModuleTree<'_> {
    /// Adds the module of a file and all below it; returns its index if the file exists.
    fn add_file(&mut self, path: &Path, parent: usize) -> Option<usize> {
        let file = self.files.iter().find(|file| file.path == path)?;
        let index = self.add(path, parent);
        let is_root = ["lib.rs", "main.rs", "mod.rs"]
            .iter()
            .any(|name| path.ends_with(name));
        let folder = path.with_extension("");
        let folder = if is_root { path.parent()? } else { &folder };
        self.read(index, file.tokens.clone(), folder);
        Some(index)
    }

    fn add(&mut self, file: &Path, parent: usize) -> usize {
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            ..Module::default()
        });
        self.modules.len() - 1
    }

    /// Reads the items of a module; `folder` has the files of its children.
    fn read(&mut self, index: usize, tokens: TokenStream, folder: &Path) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let word = token.to_string();
            let name = tokens
                .get(at + 1)
                .map(ToString::to_string)
                .unwrap_or_default();
            match word.as_str() {
                "mod" => {
                    let child = match tokens.get(at + 2) {
                        Some(TokenTree::Group(body)) => {
                            let file = self.modules[index].file.clone();
                            let child = self.add(&file, index);
                            self.read(child, body.stream(), &folder.join(&name));
                            Some(child)
                        }
                        _ => [
                            folder.join(format!("{name}.rs")),
                            folder.join(&name).join("mod.rs"),
                        ]
                        .iter()
                        .find_map(|path| self.add_file(path, index)),
                    };
                    if let Some(child) = child {
                        self.modules[index].children.insert(name, child);
                    }
                    at += 3;
                    continue;
                }
                "struct" | "enum" | "trait" | "union" | "fn" | "static" | "type" | "const" => {
                    self.modules[index].items.insert(name);
                }
                "macro_rules" => {
                    let name = tokens.get(at + 2).map(ToString::to_string);
                    self.modules[index].items.extend(name);
                }
                _ => {}
            }
            at += 1;
        }
        self.modules[index].collect(&tokens);
    }

    fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (index, module) in self.modules.iter().enumerate() {
            let imported = module.imports.values().filter(|import| !import.is_reexport);
            let paths = imported.map(|import| &import.path).chain(&module.paths);
            for path in paths {
                let Some(PathTarget::Item(target)) = self.resolve(index, path, &mut Seen::new())
                else {
                    continue;
                };
                let to = &self.modules[target].file;
                if *to != module.file {
                    let name = path.last().cloned().unwrap_or_default();
                    uses.entry((module.file.clone(), to.clone()))
                        .or_insert(name);
                }
            }
        }
        uses
    }

    fn resolve(&self, from: usize, path: &[String], seen: &mut Seen) -> Option<PathTarget> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent,
            _ => return self.resolve_below(from, path, seen),
        };
        if rest.is_empty() {
            return Some(PathTarget::Module(start));
        }
        if rest.first().is_some_and(|next| next == "super") {
            return self.resolve(start, rest, seen);
        }
        self.resolve_below(start, rest, seen)
    }

    /// Resolves names that a module has in scope, or below it.
    fn resolve_below(&self, from: usize, path: &[String], seen: &mut Seen) -> Option<PathTarget> {
        let (first, rest) = path.split_first()?;
        if !seen.insert((from, first.clone())) {
            return None;
        }
        let module = &self.modules[from];
        let found = if let Some(&child) = module.children.get(first) {
            Some(PathTarget::Module(child))
        } else if module.items.contains(first) {
            Some(PathTarget::Item(from))
        } else if let Some(import) = module.imports.get(first) {
            self.resolve(from, &import.path, seen)
        } else {
            let mut by_glob = |glob: &Segments| {
                let path: Segments = glob.iter().chain([first]).cloned().collect();
                self.resolve(from, &path, seen)
            };
            module.globs.iter().find_map(&mut by_glob)
        };
        match found {
            Some(PathTarget::Module(child)) if !rest.is_empty() => {
                self.resolve_below(child, rest, seen)
            }
            found => found,
        }
    }
}

impl Module {
    /// Collects imports and paths, in function bodies, too; not in inline modules.
    fn collect(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        let mut is_public = false;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Ident(word) if *word == "pub" => {
                    is_public = true;
                    continue;
                }
                TokenTree::Ident(word) if *word == "mod" => at += 2,
                TokenTree::Ident(word) if *word == "use" => {
                    let len = tokens[at..].iter().position(|token| is_punct(token, ';'));
                    let end = at + len.unwrap_or(0);
                    self.import(&Segments::new(), &tokens[at..end], is_public);
                    at = end;
                }
                TokenTree::Ident(_) => {
                    let (path, end) = segments(tokens, at - 1);
                    self.paths.insert(path);
                    // a cast `as` is no path
                    at = end.max(at);
                }
                TokenTree::Group(group) => {
                    // of `pub(crate)`: still the same visibility
                    if is_public && group.delimiter() == Delimiter::Parenthesis {
                        continue;
                    }
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.collect(&inner);
                }
                _ => {}
            }
            is_public = false;
        }
    }

    /// Adds the names of a `use` tree.
    fn import(&mut self, before: &Segments, tokens: &[TokenTree], is_reexport: bool) {
        for part in tokens.split(|token| is_punct(token, ',')) {
            let skipped = part.iter().take_while(|token| is_punct(token, ':')).count();
            let (own, end) = segments(part, skipped);
            let mut path: Segments = before.iter().cloned().chain(own).collect();
            let rest: Vec<&TokenTree> = part
                .get(end..)
                .unwrap_or(&[])
                .iter()
                .filter(|t| !is_punct(t, ':'))
                .collect();
            match rest.first() {
                Some(TokenTree::Group(group)) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.import(&path, &inner, is_reexport);
                }
                Some(token) if is_punct(token, '*') => self.globs.push(path),
                rest => {
                    // `use a::b::{self}` names b
                    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
                        path.pop();
                    }
                    let alias = rest.is_some().then(|| part.last()).flatten();
                    let name = alias
                        .map(ToString::to_string)
                        .or_else(|| path.last().cloned());
                    if let Some(name) = name {
                        self.imports.insert(name, Import { path, is_reexport });
                    }
                }
            }
        }
    }
}

/// Reads `a::b::c` at an index; returns it with the index behind it.
fn segments(tokens: &[TokenTree], mut at: usize) -> (Segments, usize) {
    let mut path = Segments::new();
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        if *word == "as" {
            break;
        }
        path.push(word.to_string());
        at += 1;
        let colons = tokens.get(at..at + 2).unwrap_or(&[]);
        let is_followed = matches!(tokens.get(at + 2), Some(TokenTree::Ident(_)));
        if colons.len() < 2 || !colons.iter().all(|token| is_punct(token, ':')) || !is_followed {
            break;
        }
        at += 2;
    }
    (path, at)
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}
