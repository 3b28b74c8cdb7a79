// Opens a local file: it becomes a temporary replay of the daemon, which the player seeks in as in any other.

import { fromJson } from "@bufbuild/protobuf";
import { Code, type Replay, ReplaydError } from "@replayd/client";
import { CreateReplayResponseSchema } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { fill, h, sizeText } from "./dom.js";
import { authorization, client } from "./net.js";

const prefix = "@upload/";

/** Whether a replay is temporary. */
export const isTemporary = (name: string): boolean => name.startsWith(prefix);

/** A file that was opened in this browser. */
export interface Opened {
  /** The name of the temporary replay. */
  name: string;
  file: string;
  /** When it expires, in milliseconds. */
  expires: number;
}

const key = "replayd files";

/** The files that were opened in this browser and have not expired, latest first. */
export function openedFiles(): Opened[] {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? "[]") as Opened[]).filter(({ expires }) => expires > Date.now());
  } catch {
    return [];
  }
}

/** The name that people know a replay by: for a temporary one, its file's. */
export const fileOf = (name: string): string => openedFiles().find((one) => one.name === name)?.file ?? name;

function keep(files: Opened[]): void {
  localStorage.setItem(key, JSON.stringify(files.slice(0, 20)));
}

/** Removes a file from the list. */
export function forgetFile(name: string): void {
  keep(openedFiles().filter((one) => one.name !== name));
}

/** The files that the daemon still has. */
export async function filesThere(): Promise<Opened[]> {
  await Promise.all(openedFiles().map(({ name }) => client.replay(name).catch((error: unknown) => {
    if (error instanceof ReplaydError && error.code === Code.NotFound) forgetFile(name);
  })));
  return openedFiles();
}

/** Removes a temporary replay from the daemon. */
export async function removeFile(name: string): Promise<void> {
  await fetch(`/v1/replays/${encodeURIComponent(name)}`, { method: "DELETE", headers: authorization() });
  forgetFile(name);
}

/** Uploads a file, and returns the temporary replay. It shows the progress, and cancelled is called when the viewer cancels it. */
export async function uploadFile(app: HTMLElement, file: File, signal: AbortSignal, cancelled: () => void): Promise<Replay> {
  const bar = h("progress", { "aria-label": "Uploading", max: 1, value: 0 });
  const status = h("p", { class: "quiet", role: "status" }, `0 B of ${sizeText(file.size)}`);
  fill(app, h("main", { class: "middle" }, h("h1", { class: "upload" }, file.name), bar, status,
    h("button", { type: "button", class: "more", onclick: cancelled }, "Cancel")));
  document.title = `${file.name} · replayd`;
  const { limits } = await client.serverInfo();
  if (limits && !limits.maxTimeToLive) throw new Error("This daemon keeps no files of its visitors.");
  if (limits && file.size > limits.maxUploadBytes) throw new Error(`${file.name} has ${sizeText(file.size)}; this daemon takes files of ${sizeText(Number(limits.maxUploadBytes))}.`);
  const answer = await send(file, signal, (sent) => {
    bar.value = sent / Math.max(file.size, 1);
    status.textContent = sent < file.size ? `${sizeText(sent)} of ${sizeText(file.size)}` : "Reading it …";
  });
  const { replay } = fromJson(CreateReplayResponseSchema, answer, { ignoreUnknownFields: true });
  if (!replay) throw new Error("The daemon did not keep it.");
  const expires = Number(replay.expireTime?.seconds ?? 0n) * 1000;
  keep([{ name: replay.name, file: file.name, expires }, ...openedFiles()]);
  return replay;
}

/** Sends a file. Only XMLHttpRequest reports how much was sent. */
function send(file: File, signal: AbortSignal, progress: (sent: number) => void): Promise<never> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/v1/replays");
    request.responseType = "json";
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => progress(Math.min(loaded, file.size));
    request.onload = () => request.status === 201 ? resolve(request.response as never) : reject(new Error(request.response?.error?.message ?? `The daemon answered ${request.status}.`));
    request.onerror = () => reject(new Error("The connection broke, or the daemon refused the file."));
    request.onabort = () => reject(new Error("cancelled"));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
