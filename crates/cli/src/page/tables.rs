//! The tables: directories, codecs, categories, kinds of files, the largest files.

use sinterfs::ops::{Sum, Usage, UsageKind, UsageNode};

use super::html::{Html, share};
use crate::size::human;
use crate::text;

/// Rows of a table at most.
const ROWS: usize = 20;

/// Shows all tables.
pub fn all(html: &mut Html, usage: &Usage) {
    let whole = usage.image_bytes;
    html.raw("<div class=\"sides\">\n<section>\n");
    directories(html, usage);
    html.raw("</section>\n<section>\n");
    let kinds: Vec<Sum> = usage
        .kinds
        .iter()
        .map(|kind| named(kind, "no extension"))
        .collect();
    sums(
        html,
        "By kind of file",
        "By file name extension.",
        ["Kind", "-Files"],
        &kinds,
        whole,
    );
    html.raw("</section>\n<section>\n");
    let codecs: Vec<Sum> = usage
        .codecs
        .iter()
        .map(|codec| named(codec, "unknown"))
        .collect();
    sums(
        html,
        "By codec",
        "Blocks (segments) as they are stored.",
        ["Codec", "-Blocks"],
        &codecs,
        whole,
    );
    html.raw("</section>\n<section>\n");
    if usage
        .categories
        .iter()
        .any(|category| !category.name.is_empty())
    {
        let categories: Vec<Sum> = usage
            .categories
            .iter()
            .map(|one| named(one, "none"))
            .collect();
        let caption = "What the blocks hold.";
        sums(
            html,
            "By category",
            caption,
            ["Category", "-Blocks"],
            &categories,
            whole,
        );
    } else {
        html.heading("By category");
        html.paragraph("This image does not record categories.");
    }
    html.raw("</section>\n</div>\n");
    largest(html, usage);
}

fn named(sum: &Sum, empty: &str) -> Sum {
    let mut sum = sum.clone();
    if sum.name.is_empty() {
        sum.name = empty.as_bytes().to_vec();
    }
    sum
}

fn sums(html: &mut Html, title: &str, caption: &str, heads: [&str; 2], sums: &[Sum], whole: u64) {
    html.heading(title);
    html.table(caption);
    html.head(&[
        heads[0],
        heads[1],
        "-Content",
        "-In the image",
        "-Share",
        "",
    ]);
    let most = sums.first().map_or(0, |sum| sum.stored);
    let mut rest = Sum::default();
    for (at, sum) in sums.iter().enumerate() {
        if at < ROWS {
            row(html, sum, whole, most);
            continue;
        }
        rest.count = rest.count.saturating_add(sum.count);
        rest.stored = rest.stored.saturating_add(sum.stored);
        rest.content = rest.content.saturating_add(sum.content);
    }
    if rest.count > 0 {
        row(
            html,
            &named(&rest, "all others"),
            whole,
            most.max(rest.stored),
        );
    }
    html.raw("</table>\n");
}

fn row(html: &mut Html, sum: &Sum, whole: u64, most: u64) {
    let cells = [
        text::name(&sum.name),
        sum.count.to_string(),
        human(sum.content),
        human(sum.stored),
        share(sum.stored, whole),
    ];
    html.row(
        &cells.each_ref().map(String::as_str),
        Some((sum.stored, most)),
    );
}

/// Shows the directories below the root that take most.
fn directories(html: &mut Html, usage: &Usage) {
    let mut list: Vec<Sum> = usage
        .root
        .children
        .iter()
        .map(|node| Sum {
            name: match node.what {
                UsageKind::Directory => [&node.name[..], b"/"].concat(),
                UsageKind::File => node.name.clone(),
                UsageKind::Rest => b"smaller ones".to_vec(),
                UsageKind::Unused => b"blocks of no file".to_vec(),
                UsageKind::Metadata => b"metadata and framing".to_vec(),
            },
            count: node.files,
            stored: node.stored,
            content: node.size,
        })
        .collect();
    list.sort_by(|a, b| (b.stored, &a.name).cmp(&(a.stored, &b.name)));
    let (title, caption) = ("In the root", "What is in the root directory.");
    let heads = ["Name", "-Files"];
    sums(html, title, caption, heads, &list, usage.image_bytes);
}

/// Shows the files that take most.
fn largest(html: &mut Html, usage: &Usage) {
    html.heading("Largest files");
    html.table("By their bytes in the image.");
    html.head(&["Path", "-Size", "-In the image", "-Of its size", ""]);
    let most = usage.largest.first().map_or(0, |file| file.stored);
    for UsageNode {
        name, size, stored, ..
    } in &usage.largest
    {
        let cells = [
            text::name(name),
            human(*size),
            human(*stored),
            share(*stored, *size),
        ];
        html.row(&cells.each_ref().map(String::as_str), Some((*stored, most)));
    }
    html.raw("</table>\n");
}
