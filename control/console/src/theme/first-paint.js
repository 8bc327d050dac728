// Runs before anything is drawn, so that a page never flashes in the wrong theme or language.
(function () {
  var root = document.documentElement;
  var theme = null;
  var language = null;
  try {
    theme = localStorage.getItem("starlight.theme");
    language = localStorage.getItem("starlight.language");
  } catch (_) {
    // Storage may be closed to us; the system's choice stands.
  }
  var dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "dark" : "light";
  if (language !== "zh-CN" && language !== "en") {
    language = /^(zh|$)/i.test(navigator.language || "") ? "zh-CN" : "en";
  }
  root.lang = language;
})();
