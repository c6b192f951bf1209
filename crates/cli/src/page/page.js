(function () {
  'use strict';
  var root = JSON.parse(document.getElementById('data').textContent).tree;
  var box = document.getElementById('treemap');
  var way = document.getElementById('way');
  var shown = document.getElementById('shown');
  var path = [root];
  var weight = root.c > 0 ? 'c' : 's';

  function human(bytes) {
    var units = ['B', 'kB', 'MB', 'GB', 'TB'], at = 0;
    while (bytes >= 999.5 && at + 1 < units.length) { bytes /= 1000; at += 1; }
    var digits = at === 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
    return bytes.toFixed(digits) + ' ' + units[at];
  }

  function name(node) {
    if (node.w === 'rest') { return node.f + (node.f === 1 ? ' smaller file' : ' smaller files'); }
    if (node.w === 'unused') { return 'blocks of no file'; }
    if (node.w === 'metadata') { return 'metadata and framing'; }
    return node.w === 'directory' && node !== root ? node.n + '/' : node.n;
  }

  function words(node) {
    var text = name(node) + ': ' + human(node.c) + ' in the image';
    if (node.w === 'unused' || node.w === 'metadata') { return text; }
    text += ' for ' + human(node.s);
    if (node.s > 0) { text += ' (' + (100 * node.c / node.s).toFixed(1) + ' %)'; }
    return node.w === 'directory' ? text + ' in ' + node.f + ' files' : text;
  }

  function shade(node) {
    if (node.w === 'unused' || node.w === 'metadata') { return 'r5'; }
    var part = node.s > 0 ? node.c / node.s : 0;
    return part < 0.1 ? 'r0' : part < 0.25 ? 'r1' : part < 0.5 ? 'r2' : part < 0.9 ? 'r3' : 'r4';
  }

  // squarified: rows along the shorter side, each as long as its boxes become squarer by it
  function cut(nodes, x, y, w, h, put) {
    var sorted = nodes.filter(function (n) { return n[weight] > 0; });
    sorted.sort(function (a, b) { return b[weight] - a[weight]; });
    var left = sorted.reduce(function (sum, n) { return sum + n[weight]; }, 0), at = 0;
    while (at < sorted.length && w > 0 && h > 0) {
      var side = Math.min(w, h), scale = w * h / left, sum = 0, worst = Infinity, end = at;
      while (end < sorted.length) {
        var next = sum + sorted[end][weight], depth = next * scale / side;
        var big = sorted[at][weight] * scale / depth, small = sorted[end][weight] * scale / depth;
        var now = Math.max(big / depth, depth / small);
        if (now > worst) { break; }
        worst = now; sum = next; end += 1;
      }
      var thick = sum * scale / side, along = 0;
      for (; at < end; at += 1) {
        var long = sorted[at][weight] * scale / thick;
        if (w >= h) { put(sorted[at], x, y + along, thick, long); } else { put(sorted[at], x + along, y, long, thick); }
        along += long;
      }
      if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
      left -= sum;
    }
  }

  function show(into, nodes, trail, x, y, w, h) {
    cut(nodes, x, y, w, h, function (node, left, top, width, height) {
      if (width < 2 || height < 2) { return; }
      var inside = node.k && node.k.length > 0, here = trail.concat([node]);
      var open = inside && width > 44 && height > 34;
      var item = document.createElement(inside ? 'button' : 'div');
      if (inside) {
        item.type = 'button';
        item.addEventListener('click', function () { go(here); });
        item.setAttribute('aria-label', 'Zoom into ' + words(node));
      }
      item.className = open ? 'dir' : shade(node);
      item.style.left = left + 'px'; item.style.top = top + 'px';
      item.style.width = width + 'px'; item.style.height = height + 'px';
      // a name that is cut after two letters says nothing
      if (width > 46 && height > 15) {
        item.textContent = name(node);
        // browsers put the words of a button in its middle
        item.style.paddingBottom = Math.max(0, height - 18) + 'px';
      }
      item.title = words(node);
      item.addEventListener('mouseenter', function () { shown.textContent = trace(here) + ' ' + words(node); });
      item.addEventListener('focus', function () { shown.textContent = trace(here) + ' ' + words(node); });
      into.appendChild(item);
      if (open) { show(into, node.k, here, left + 2, top + 18, width - 4, height - 20); }
    });
  }

  function trace(trail) {
    return trail.slice(1, -1).map(function (node) { return name(node); }).join('');
  }

  function go(trail) {
    path = trail;
    draw();
    var last = way.lastElementChild;
    if (last) { last.focus(); }
  }

  function draw() {
    var boxes = document.createDocumentFragment(), node = path[path.length - 1];
    show(boxes, node.k || [node], path, 0, 0, box.clientWidth, box.clientHeight);
    box.replaceChildren(boxes);
    way.replaceChildren();
    path.forEach(function (step, index) {
      var item = document.createElement('button');
      item.type = 'button';
      item.textContent = name(step);
      item.addEventListener('click', function () { go(path.slice(0, index + 1)); });
      way.appendChild(item);
    });
    shown.textContent = words(node);
    box.dataset.boxes = String(box.childElementCount);
  }

  document.addEventListener('keydown', function (event) {
    if (event.key === 'Escape' && path.length > 1) { go(path.slice(0, -1)); }
  });
  window.addEventListener('resize', draw);
  draw();
}());
