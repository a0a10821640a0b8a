// Sets the colours before the page is drawn, so that a dark page never flashes white.
{
  let theme = null;
  try {
    theme = localStorage.getItem("sluice-theme");
  } catch {
    // Storage is switched off: the colours of the system hold.
  }
  if (theme === "dark" || theme === "light") {
    document.documentElement.dataset.theme = theme;
  }
}
