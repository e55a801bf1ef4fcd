(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push(`it is ${root.scrollWidth} pixels wide, wider than the ${innerWidth} of the screen`);

  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  // Relative luminance and contrast are those of WCAG 2.
  const luminance = (color) => {
    const [r, g, b] = parse(color).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (parse(color)[3] !== 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement, text = texts.currentNode.data.trim();
    if (!text || !e.checkVisibility() || e.closest("svg, script")) continue;
    seen++;
    const light = [luminance(getComputedStyle(e).color), luminance(ground(e))].sort((a, b) => b - a);
    const contrast = (light[0] + 0.05) / (light[1] + 0.05);
    if (!(contrast >= 4.5)) faults.push(`contrast ${contrast.toFixed(2)} of ${text.slice(0, 40)}`);
    const box = e.getBoundingClientRect();
    if (box.right > innerWidth + 1 || box.left < -1) faults.push(`beyond the edge: ${text.slice(0, 40)}`);
  }
  if (seen < 20) faults.push(`only ${seen} texts were seen`);
  return faults;
})()
