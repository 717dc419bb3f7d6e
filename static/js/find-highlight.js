// Whoever comes from a search lands on the very words: they are marked in the place that the link names, and
// come into view in all that scrolls around them. After the browser itself has gone to the place.
const findWords = () => {
  const words = new URLSearchParams(location.search).get("find")?.split(/\s+/).filter(Boolean);
  const place = document.getElementById(location.hash.slice(1));
  if (!words?.length || !place) return;

  const find = () => {
    const wanted = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+"), "u");
    const nodes = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const ends = [];
    let text = "";
    while (nodes.nextNode()) {
      text += nodes.currentNode.data;
      ends.push([nodes.currentNode, text.length]);
    }
    const found = wanted.exec(text);
    if (!found) return null;
    const at = (offset, isEnd) => {
      const [node, end] = ends.find(([, end]) => (isEnd ? offset <= end : offset < end));
      return [node, offset - (end - node.data.length)];
    };
    const range = new Range();
    range.setStart(...at(found.index, false));
    range.setEnd(...at(found.index + found[0].length, true));
    return range;
  };

  const reveal = (range) => {
    for (let box = range.startContainer.parentElement; box; box = box.parentElement) {
      if (box.scrollHeight <= box.clientHeight || !/auto|scroll/.test(getComputedStyle(box).overflowY)) continue;
      const seen = range.getBoundingClientRect();
      const frame = box.getBoundingClientRect();
      if (seen.top < frame.top || seen.bottom > frame.bottom) box.scrollTop += seen.top - frame.top - frame.height / 3;
    }
  };

  const land = () => {
    const range = find();
    if (!range) return false;
    const more = range.startContainer.parentElement.closest(".message__body")?.nextElementSibling;
    if (more?.matches(".message__more")) more.open = true;
    for (let fold = range.startContainer.parentElement.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
    reveal(range);
    globalThis.CSS?.highlights?.set("found", new Highlight(range));
    return true;
  };
  if (land()) return;
  // Perhaps they are in an output that is fetched now that its card is open.
  const again = () => {
    if (land()) place.removeEventListener("htmx:after:swap", again);
  };
  place.addEventListener("htmx:after:swap", again);
};
addEventListener("load", () => setTimeout(findWords));
addEventListener("content", findWords);
