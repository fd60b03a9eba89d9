// Runs before anything is drawn: the theme that was chosen, so that no other one flashes up.
document.documentElement.dataset.theme = localStorage.getItem("penstock.theme") ?? "system";
