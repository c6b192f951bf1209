//! One self-contained HTML page about an image: its use of space.
//!
//! Enters: measurements and information about the image. Leaves: the page. **Invariant:** nothing
//! is fetched, nothing of the image is markup or script (names are escaped everywhere), and the
//! same image makes the same page, but for how long it took to make it, which is there only where
//! the image is made. It can be read without script, which draws the treemap only.

mod blocks;
mod data;
mod html;
mod stages;
mod tables;

use sinterfs::image::InfoRows;
use sinterfs::ops::Usage;

use crate::size::human;
use crate::text;
use crate::timings::Timings;
use html::{Html, share};

/// Makes the page of an image, with the timings of its build, if known.
pub fn page(name: &[u8], details: &InfoRows, usage: &Usage, timings: Option<&Timings>) -> String {
    let mut html = Html::default();
    let name = text::name(name);
    html.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // anything that gets past the escapes could not load or send anything
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
    html.raw("style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    html.text(&name);
    html.raw(" - use of space</title>\n<style>\n");
    html.raw(include_str!("page.css"));
    html.raw("</style>\n</head>\n<body>\n<h1>Space used in ");
    html.name(&name);
    html.raw("</h1>\n");
    summary(&mut html, details, usage);
    savings(&mut html, usage);
    treemap(&mut html);
    tables::all(&mut html, usage);
    blocks::map(&mut html, usage);
    if let Some(timings) = timings {
        stages::all(&mut html, timings);
    }
    html.raw("<script type=\"application/json\" id=\"data\">");
    html.raw(&data::json(usage));
    html.raw("</script>\n<script>\n");
    html.raw(include_str!("page.js"));
    html.raw("</script>\n</body>\n</html>\n");
    html.finish()
}

fn summary(html: &mut Html, details: &InfoRows, usage: &Usage) {
    let text_of = |wanted: &str| {
        let found = details.iter().find(|(name, _)| name == wanted);
        match found {
            Some((_, sinterfs::image::InfoValue::Text(text))) => text.clone(),
            _ => String::new(),
        }
    };
    let format = format!("{} {}", text_of("format"), text_of("version"));
    let counts = format!(
        "{}: {} for {} in {}.",
        format.trim(),
        human(usage.image_bytes),
        human(usage.file_bytes),
        text::counts(&[
            (usage.files, "file"),
            (usage.directories, "directory"),
            (usage.others, "other entry"),
            (usage.hard_links, "hard link"),
        ]),
    );
    html.paragraph(&counts);
    if usage.elsewhere > 0 {
        html.paragraph(&format!(
            "The content of {} files is not in the image.",
            usage.elsewhere
        ));
    }
    if usage.unknown_bytes > 0 {
        html.paragraph(&format!(
            "How {} of content are stored is unknown for this format; they count as 0 here.",
            human(usage.unknown_bytes)
        ));
    }
}

/// Shows the bytes after each step of packing.
fn savings(html: &mut Html, usage: &Usage) {
    html.heading("Where the bytes went");
    html.table("Bytes after each step, and the saving of each.");
    html.head(&["", "-Bytes", "-Size", "-Saved by the step", ""]);
    let held = usage.file_bytes.saturating_sub(usage.hole_bytes);
    let steps = [
        ("files, hard links once", usage.file_bytes),
        ("without holes", held),
        ("equal content once", usage.distinct_bytes),
        ("compressed", usage.block_bytes),
        ("the image, with metadata", usage.image_bytes),
    ];
    let most = steps.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let mut before = None;
    for (name, bytes) in steps {
        let saved = match before {
            Some(before) if bytes <= before && before > 0 => share(before - bytes, before),
            Some(before) if bytes > before => format!("+{}", human(bytes - before)),
            _ => String::new(),
        };
        let cells = [
            name,
            &format!("-{bytes}"),
            &format!("-{}", human(bytes)),
            &format!("-{saved}"),
        ];
        html.row(&cells, Some((bytes, most)));
        before = Some(bytes);
    }
    html.raw("</table>\n");
}

fn treemap(html: &mut Html) {
    html.heading("By directory");
    html.paragraph(
        "Areas are bytes in the image. A block that several files share is divided among them by \
         how much of it they use. Choose a directory to zoom in, Escape to zoom out.",
    );
    html.raw(
        "<noscript><p>The treemap is drawn by script; the tables below need none.</p></noscript>\n",
    );
    html.raw("<nav id=\"way\" aria-label=\"Directory shown\"></nav>\n");
    html.raw(
        "<div id=\"treemap\" role=\"group\" aria-label=\"Treemap of bytes in the image by \
              directory\"></div>\n",
    );
    html.raw("<p id=\"shown\" aria-live=\"polite\"></p>\n<ul class=\"key\">");
    html.raw("<li class=\"soft\">Bytes in the image for a byte of the file:</li>");
    let steps = [
        "below 10 %",
        "below 25 %",
        "below 50 %",
        "below 90 %",
        "more",
        "no file's",
    ];
    for (number, step) in steps.iter().enumerate() {
        html.raw(&format!("<li><i class=\"r{number}\"></i>{step}</li>"));
    }
    html.raw("</ul>\n");
}
