//! Opens the input of a build.

use std::sync::Arc;

use sinterfs_model::{Error, Loss, Result, Setting};
use sinterfs_source::archive::ImpliedDirectories;
use sinterfs_source::merge::{Merge, MergeOptions};
use sinterfs_source::{Definition, Directory};

use super::images::Images;
use super::kinds::{Input, Layering, ManifestOptions, MergePart};
use super::noticing::NoticingArchive;
use super::opened::{OpenInput, Tree};
use super::request::Request;
use super::stack::Stack;
use crate::formats;
use crate::image::container_config::{CONTAINER_ATTRIBUTE, LONGEST_CONFIG, kept};
use crate::open::open_cached;
use crate::open_options::shared_cache;

/// Opens all that a request names.
pub(crate) fn open(request: &Request<'_>) -> Result<OpenInput> {
    let opened = open_input(request)?;
    if opened.manifests.is_empty() && request.manifest != ManifestOptions::default() {
        let options = [Setting::ManifestRoot, Setting::ManifestAnywhere];
        let [root, anywhere] = options;
        let what =
            format!("{root} and {anywhere} are about lists of files (mtree), and no source is one");
        return Err(Error::invalid(what).about(options));
    }
    let has_archives = !opened.archives.is_empty() || !opened.whole_archives.is_empty();
    if !has_archives && request.implied != ImpliedDirectories::default() {
        let option = Setting::ImpliedDirectories;
        let what = format!("{option} is about directories of archives, and no source is one");
        return Err(Error::invalid(what).about([option]));
    }
    let mut opened = OpenInput {
        edits: request.edits.clone(),
        ..opened
    };
    if let Some(config) = opened.config.take().filter(|_| request.keeps_config) {
        keep(&mut opened, &config)?;
    }
    Ok(opened)
}

/// Adds the configuration of a container image to the root.
fn keep(opened: &mut OpenInput, config: &[u8]) -> Result<()> {
    let config = kept(config)?;
    if config.len() > LONGEST_CONFIG {
        opened.images.unrepresented.push(Loss::new(
            "configuration of a container image, longer than 64 KiB",
            1,
        ));
    } else {
        let attribute = Definition::root_attribute(CONTAINER_ATTRIBUTE.as_bytes(), config);
        opened.edits.pseudo.push(attribute);
    }
    Ok(())
}

fn open_input(request: &Request<'_>) -> Result<OpenInput> {
    let no_images = || Images::new(shared_cache(0));
    match request.input {
        Input::Directory(path) => {
            let directory = Directory::open(path, request.directory.clone())?;
            Ok(OpenInput::new(Tree::Directory(directory), no_images()))
        }
        Input::Archive(path) => {
            let archive = request.archive(path, &request.directory.exclude)?;
            let archive = NoticingArchive::new(archive);
            let mut input = OpenInput::new(Tree::Archive(archive.clone()), no_images());
            input.whole_archives.push(archive);
            Ok(input)
        }
        Input::Image { path, options } => {
            let cache = shared_cache(options.cache_bytes);
            let opened = open_cached(path, options, &cache)?;
            let mut input = OpenInput::of_image(&opened, path, &cache, request.threads)?;
            input.images.opened = Some((opened, path.clone()));
            Ok(input)
        }
        Input::Manifest(path) => {
            let images = no_images();
            let exclude = &request.directory.exclude;
            let manifest = request.manifest(path, exclude, &images.damage)?;
            let mut input = OpenInput::new(Tree::Manifest(Arc::clone(&manifest)), images);
            input.manifests.push(manifest);
            Ok(input)
        }
        Input::Dump { path, objects } => {
            let mut images = no_images();
            let image = formats::dump_image(path, objects.as_deref())?;
            let tree = Tree::Image(images.add_image(image, path));
            Ok(OpenInput::new(tree, images))
        }
        Input::Merge {
            parts,
            layers,
            cache_bytes,
        } => merge(parts, layers.as_ref(), *cache_bytes, request),
    }
}

fn merge(
    parts: &[MergePart],
    layers: Option<&Layering>,
    cache_bytes: u64,
    request: &Request<'_>,
) -> Result<OpenInput> {
    let mut stack = Stack::new(request, layers, cache_bytes);
    for part in parts {
        stack.add(part)?;
    }
    stack.check()?;
    let config = match parts {
        // of several, none is that of the whole
        [part] if part.at.is_empty() => stack.configs.pop(),
        _ => None,
    };
    stack.images.make_room(request.threads);
    let how = MergeOptions {
        strict: request.strict,
        layers: layers.is_some(),
        exclude: request.directory.exclude.clone(),
    };
    let tree = Tree::Merge(Merge::new(stack.sources, how)?);
    Ok(OpenInput {
        archives: stack.archives,
        whole_archives: stack.whole_archives,
        manifests: stack.manifests,
        config,
        ..OpenInput::new(tree, stack.images)
    })
}
