// A page that says what went wrong is loaded in an entry of the history whose neighbours the browser takes for this page too:
// Back would change the address alone.
addEventListener("popstate", () => location.reload());
