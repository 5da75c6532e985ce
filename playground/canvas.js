// Canvas in CSS pixels with the page's colours and font.
export class Canvas {
  constructor(element) {
    const scale = devicePixelRatio || 1;
    const box = element.getBoundingClientRect();
    [this.width, this.height] = [box.width, box.height];
    const [wide, high] = [Math.round(box.width * scale), Math.round(box.height * scale)];
    if (element.width !== wide) element.width = wide;
    if (element.height !== high) element.height = high;
    this.styles = getComputedStyle(document.documentElement);
    this.context = element.getContext("2d");
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    this.context.font = "12px system-ui, sans-serif";
  }

  colour(name) {
    return this.styles.getPropertyValue(`--${name}`).trim();
  }

  flow(i) {
    return this.colour(`flow-${i % 6}`);
  }

  text(text, x, y, colour, align = "left") {
    this.context.fillStyle = this.colour(colour);
    this.context.textAlign = align;
    this.context.fillText(text, x, y);
  }

  line(x1, y1, x2, y2) {
    this.context.beginPath();
    this.context.moveTo(x1, y1);
    this.context.lineTo(x2, y2);
    this.context.stroke();
  }

  dashed(x1, y1, x2, y2, colour) {
    this.context.strokeStyle = this.colour(colour);
    this.context.lineWidth = 1.5;
    this.context.setLineDash([4, 3]);
    this.line(x1, y1, x2, y2);
    this.context.setLineDash([]);
  }
}
