// All of a conversation is printed, also what was not scrolled to. The browser waits only for a request that blocks.
addEventListener("beforeprint", () => {
  const earlier = document.getElementById("earlier");
  if (!earlier) return;
  const request = new XMLHttpRequest();
  request.open("GET", `${earlier.getAttribute("hx-get")}?from=all`, false);
  try {
    request.send();
  } catch {
    return; // without a connection, what is there is printed
  }
  if (request.status !== 200) return;
  const view = document.getElementById("scroll");
  const below = view.scrollHeight - view.scrollTop;
  htmx.swap({ sourceElement: earlier, target: earlier, swap: "outerHTML", text: request.responseText });
  view.scrollTop = view.scrollHeight - below;
});
