// Measures what a frame of a page costs, and what a browser gives at all on this machine.

/** Counts in a page how long its frames take, for some seconds. Returns milliseconds, in their order. */
export function frames(page, seconds) {
  return page.evaluate((milliseconds) => new Promise((resolve) => {
    const gaps = [];
    let before = performance.now();
    const end = before + milliseconds;
    const frame = (now) => {
      gaps.push(now - before);
      before = now;
      if (now > end) resolve(gaps);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }), seconds * 1000);
}

const scripts = /^(FunctionCall|FireAnimationFrame|TimerFire|EventDispatch|RunMicrotasks|BlinkScheduler_PerformMicrotaskCheckpoint|MajorGC|MinorGC|v8\b.*|V8\..*)$/;
const canvas = /^(LayerTreeHost::DoUpdateLayers|Canvas2D.*|CanvasResource.*)$/;

/**
 * Traces a page for some seconds. Returns the processor time of a frame in milliseconds: of the page's scripts, of the browser drawing
 * what they draw on canvases, and of everything else of the page's thread; then of the threads that put the picture together.
 */
export async function cost(page, seconds) {
  await page.tracing.start({ categories: ["devtools.timeline", "toplevel", "cc", "viz", "gpu", "blink", "v8", "__metadata"] });
  const count = (await frames(page, seconds)).length;
  const { traceEvents: events } = JSON.parse(Buffer.from(await page.tracing.stop()).toString());
  const names = new Map(events.filter(({ name }) => name === "thread_name").map(({ pid, tid, args }) => [`${pid}/${tid}`, args.name]));
  const threads = new Map();
  for (const event of events) {
    if (event.ph !== "X" || !event.dur) continue;
    const key = `${event.pid}/${event.tid}`;
    if (!threads.has(key)) threads.set(key, []);
    threads.get(key).push(event);
  }
  const parts = { scripts: 0, canvas: 0, rest: 0, raster: 0, compositor: 0, gpu: 0 };
  for (const [key, list] of threads) {
    const name = names.get(key) ?? "";
    const of = name === "Compositor" ? "compositor" : /^(ThreadPool|CompositorTile)/.test(name) ? "raster" : /^(Viz|CrGpu)/.test(name) ? "gpu" : undefined;
    if (!of && name !== "CrRendererMain") continue;
    list.sort((a, b) => a.ts - b.ts || b.dur - a.dur);
    const within = [];
    for (const event of list) { // the time of an event without that of the events in it
      while (within.length > 0 && within.at(-1).ts + within.at(-1).dur <= event.ts) within.pop();
      const kind = (one) => of ?? (scripts.test(one) ? "scripts" : canvas.test(one) ? "canvas" : "rest");
      if (within.length > 0) parts[kind(within.at(-1).name)] -= event.tdur ?? 0;
      parts[kind(event.name)] += event.tdur ?? 0;
      within.push(event);
    }
  }
  return Object.fromEntries(Object.entries(parts).map(([name, microseconds]) => [name, microseconds / 1000 / count]));
}

/** Makes a page a canvas of a size on which WebGL 2 clears and draws one rectangle with a picture in each frame: the least that moves. */
export async function least(page, width, height) {
  await page.setContent(`<canvas width="${width}" height="${height}"></canvas>`);
  await page.evaluate(() => {
    const gl = document.querySelector("canvas").getContext("webgl2", { antialias: false });
    const program = gl.createProgram();
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, "#version 300 es\nout vec2 at; void main() { at = vec2(gl_VertexID & 1, gl_VertexID >> 1); gl_Position = vec4(at * 1.6 - 0.8, 0, 1); }"],
      [gl.FRAGMENT_SHADER, "#version 300 es\nprecision mediump float; uniform sampler2D image; in vec2 at; out vec4 result; void main() { result = texture(image, at); }"],
    ]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 1000, 1000, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4e6).fill(99));
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    const frame = (now) => {
      gl.clearColor((now % 1000) / 1000, 0, 0, 1);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}
