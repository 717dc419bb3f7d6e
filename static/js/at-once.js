// A form that the page's maker wants sent without a click, once: the test of a connection that was just added.
addEventListener("DOMContentLoaded", () => document.querySelector("form[data-at-once]")?.requestSubmit());
