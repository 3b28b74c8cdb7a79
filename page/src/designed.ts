// Draws the layers of a Teeworlds map as their designer made them, by WebGL 2: tiles with their images, and quads.

import type { Group } from "@replayd/client/gen/replayd/datafile/v1/events_pb.js";
import { Lazy } from "./lazy.js";
import { type Layer, MapData, type Picture } from "./mapdata.js";
import type { Camera } from "./stage.js";

const tileVertex = `#version 300 es
uniform vec2 centre, half_, size;
out vec2 at;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  at = (centre + corner * half_) / 32.0;
  gl_Position = vec4(corner.x, -corner.y, 0, 1);
}`;

const tileFragment = `#version 300 es
precision highp float;
precision highp usampler2D;
precision mediump sampler2DArray;
uniform usampler2D cells;
uniform sampler2DArray image;
uniform vec2 size;
uniform vec4 colour;
in vec2 at;
out vec4 result;
void main() {
  vec2 dx = dFdx(at), dy = dFdy(at);
  if (any(lessThan(at, vec2(0))) || any(greaterThanEqual(at, size))) discard;
  vec2 part = fract(at);
  uvec2 cell = texelFetch(cells, ivec2(floor(at)), 0).xy;
  if (cell.x == 0u) discard;
  if ((cell.y & 8u) != 0u) part = vec2(part.y, 1.0 - part.x);
  if ((cell.y & 1u) != 0u) part.x = 1.0 - part.x;
  if ((cell.y & 2u) != 0u) part.y = 1.0 - part.y;
  result = textureGrad(image, vec3(part, cell.x), dx, dy) * colour;
}`;

const quadVertex = `#version 300 es
uniform vec2 centre, half_;
layout(location = 0) in vec2 place;
layout(location = 1) in vec2 texture_;
layout(location = 2) in vec4 colour_;
out vec2 at;
out vec4 colour;
void main() {
  at = texture_;
  colour = colour_;
  vec2 p = (place - centre) / half_;
  gl_Position = vec4(p.x, -p.y, 0, 1);
}`;

const quadFragment = `#version 300 es
precision mediump float;
uniform sampler2D image;
in vec2 at;
in vec4 colour;
out vec4 result;
void main() { result = texture(image, at) * colour; }`;

export class Designed {
  readonly canvas = document.createElement("canvas");
  /** The picture depends on the time. */
  private readonly animated: boolean;
  private drawn = "";
  private readonly gl: WebGL2RenderingContext;
  private readonly tile: WebGLProgram;
  private readonly quad: WebGLProgram;
  private readonly cells = new Lazy((layer: Layer) => this.cellsOf(layer));
  private readonly tilesets = new Lazy((picture: Picture) => this.tilesetOf(picture));
  private readonly pictures = new Lazy((picture: Picture | undefined) => this.pictureOf(picture));
  private readonly vertices: WebGLBuffer;
  private readonly points: WebGLVertexArrayObject;
  private readonly none: WebGLVertexArrayObject;

  /** Returns undefined if the browser has no WebGL 2, or the map has nothing to draw. */
  static make(map: MapData): Designed | undefined {
    try {
      return map.layers.some(MapData.drawn) ? new Designed(map) : undefined;
    } catch {
      return undefined;
    }
  }

  private constructor(private readonly map: MapData) {
    const gl = this.canvas.getContext("webgl2", { alpha: true, antialias: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    this.animated = map.layers.some((layer) => MapData.drawn(layer) && (layer.tiles?.colorEnvelope !== undefined ||
      layer.quads?.some((quad) => quad.positionEnvelope !== undefined || quad.colorEnvelope !== undefined)));
    this.tile = this.program(tileVertex, tileFragment);
    this.quad = this.program(quadVertex, quadFragment);
    this.none = gl.createVertexArray();
    this.points = gl.createVertexArray();
    this.vertices = gl.createBuffer();
    gl.bindVertexArray(this.points);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.vertices);
    for (const [location, size, offset] of [[0, 2, 0], [1, 2, 8], [2, 4, 16]]) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 32, offset);
    }
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Draws the layers for which wanted returns true, into the canvas, unless that is there. time is in milliseconds. Returns whether there is such a layer. */
  draw(camera: Camera, ratio: number, width: number, height: number, time: number, wanted: (layer: Layer) => boolean): boolean {
    const { gl, canvas } = this;
    const layers = this.map.layers.filter((layer) => MapData.drawn(layer) && wanted(layer));
    const key = [camera.x, camera.y, camera.scale, ratio, width, height, this.animated && Math.floor(time / 33), ...layers.map(({ index }) => index)].join();
    if (key === this.drawn) return layers.length > 0;
    this.drawn = key;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const half = [width / 2 / ratio / camera.scale, height / 2 / ratio / camera.scale];
    for (const layer of layers) {
      const group = this.map.groups.get(layer.group);
      if (group) this.clip(group, camera, half, width, height);
      const centre = group ? [(camera.x * group.parallaxX) / 100 + group.offsetX, (camera.y * group.parallaxY) / 100 + group.offsetY] : [camera.x, camera.y];
      if (layer.cells) this.drawTiles(layer, centre, half, time);
      else this.drawQuads(layer, centre, half, time);
    }
    return layers.length > 0;
  }

  private clip(group: Group, camera: Camera, half: number[], width: number, height: number): void {
    const { gl } = this;
    if (!group.clipped || !group.clip) return gl.disable(gl.SCISSOR_TEST);
    const { x, y, width: wide, height: tall } = group.clip;
    const [left, right] = [x, x + wide].map((at) => Math.round(((at - camera.x) / half[0] + 1) * width / 2));
    const [low, high] = [y + tall, y].map((at) => Math.round((1 - (at - camera.y) / half[1]) * height / 2));
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(left, low, Math.max(0, right - left), Math.max(0, high - low));
  }

  private drawTiles(layer: Layer, centre: number[], half: number[], time: number): void {
    const { gl, map } = this;
    const tiles = layer.tiles!;
    const [cells, tileset] = [this.cells.of(layer), this.tilesets.of(layer.image!)];
    if (!cells) return;
    gl.bindVertexArray(this.none);
    const at = this.use(this.tile, centre, half);
    gl.uniform2f(at("size"), tiles.width, tiles.height);
    const { r, g, b, a } = tiles.color ?? { r: 255, g: 255, b: 255, a: 255 };
    const envelope = map.envelopes.at(tiles.colorEnvelope, time + tiles.colorEnvelopeOffsetMs) ?? [1, 1, 1, 1];
    gl.uniform4fv(at("colour"), [r, g, b, a].map((own, i) => (own / 255) * envelope[i]));
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, cells);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, tileset);
    gl.uniform1i(at("cells"), 0);
    gl.uniform1i(at("image"), 1);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  private drawQuads(layer: Layer, centre: number[], half: number[], time: number): void {
    const { gl, map } = this;
    const data = new Float32Array(layer.quads!.length * 6 * 8);
    let n = 0;
    for (const quad of layer.quads!) {
      const moved = map.envelopes.at(quad.positionEnvelope, time + quad.positionEnvelopeOffsetMs) ?? [0, 0, 0, 0];
      const colour = map.envelopes.at(quad.colorEnvelope, time + quad.colorEnvelopeOffsetMs) ?? [1, 1, 1, 1];
      const [cos, sin] = [Math.cos((moved[2] / 180) * Math.PI), Math.sin((moved[2] / 180) * Math.PI)];
      const pivot = quad.points[4];
      for (const corner of [0, 1, 2, 1, 2, 3]) {
        const [x, y] = [(quad.points[corner].x - pivot.x) / 1024, (quad.points[corner].y - pivot.y) / 1024];
        const { r, g, b, a } = quad.colors[corner];
        data.set([
          x * cos - y * sin + pivot.x / 1024 + moved[0], x * sin + y * cos + pivot.y / 1024 + moved[1],
          quad.texture[corner].x / 1024, quad.texture[corner].y / 1024,
          (r / 255) * colour[0], (g / 255) * colour[1], (b / 255) * colour[2], (a / 255) * colour[3],
        ], n);
        n += 8;
      }
    }
    const picture = this.pictures.of(layer.image);
    gl.bindVertexArray(this.points);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.vertices);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    const at = this.use(this.quad, centre, half);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, picture);
    gl.uniform1i(at("image"), 0);
    gl.drawArrays(gl.TRIANGLES, 0, n / 8);
  }

  /** Begins to draw with a program, which gets the part of the world that is seen. Returns where its other values belong. */
  private use(program: WebGLProgram, centre: number[], half: number[]): (name: string) => WebGLUniformLocation | null {
    const { gl } = this;
    const at = (name: string) => gl.getUniformLocation(program, name);
    gl.useProgram(program);
    gl.uniform2fv(at("centre"), centre);
    gl.uniform2fv(at("half_"), half);
    return at;
  }

  /** Makes a texture, which the next calls are about. */
  private texture(kind: GLenum): WebGLTexture {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(kind, texture);
    return texture;
  }

  private cellsOf(layer: Layer): WebGLTexture | undefined {
    const { gl } = this;
    const { width, height } = layer.tiles!;
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    if (width > most || height > most || width === 0 || height === 0) return undefined;
    const texture = this.texture(gl.TEXTURE_2D);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RG8UI, width, height, 0, gl.RG_INTEGER, gl.UNSIGNED_BYTE, layer.cells!);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    return texture;
  }

  /** The 256 tiles of an image, each a picture of its own, so that they do not run into each other. */
  private tilesetOf(picture: Picture): WebGLTexture {
    const { gl } = this;
    const texture = this.texture(gl.TEXTURE_2D_ARRAY);
    const [wide, tall] = [Math.max(1, picture.width >> 4), Math.max(1, picture.height >> 4)];
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, Math.floor(Math.log2(Math.max(wide, tall))) + 1, gl.RGBA8, wide, tall, 256);
    gl.pixelStorei(gl.UNPACK_ROW_LENGTH, picture.width);
    gl.pixelStorei(gl.UNPACK_IMAGE_HEIGHT, picture.height);
    for (let i = 0; i < 256; i++) {
      gl.pixelStorei(gl.UNPACK_SKIP_PIXELS, (i & 15) * wide);
      gl.pixelStorei(gl.UNPACK_SKIP_ROWS, (i >> 4) * tall);
      if (((i >> 4) + 1) * tall <= picture.height) gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, i, wide, tall, 1, gl.RGBA, gl.UNSIGNED_BYTE, picture.pixels!);
    }
    for (const what of [gl.UNPACK_ROW_LENGTH, gl.UNPACK_IMAGE_HEIGHT, gl.UNPACK_SKIP_PIXELS, gl.UNPACK_SKIP_ROWS]) gl.pixelStorei(what, 0);
    gl.generateMipmap(gl.TEXTURE_2D_ARRAY);
    gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    return texture;
  }

  private pictureOf(picture: Picture | undefined): WebGLTexture {
    const { gl } = this;
    const texture = this.texture(gl.TEXTURE_2D);
    const { width, height, pixels } = picture ?? { width: 1, height: 1, pixels: new Uint8Array([255, 255, 255, 255]) };
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, pixels!);
    gl.generateMipmap(gl.TEXTURE_2D);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    return texture;
  }

  private program(vertex: string, fragment: string): WebGLProgram {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
      const shader = gl.createShader(type)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "a shader does not link");
    return program;
  }
}
