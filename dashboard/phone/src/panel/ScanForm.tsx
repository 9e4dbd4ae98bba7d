import type { TargetedClipboardEvent } from "preact";
import { useState } from "preact/hooks";
import { messageOf, path } from "../shared/api";
import { Field } from "../shared/Field";
import { Camera } from "./Camera";
import type { Request } from "./curl";
import { readPicture } from "./decode";
import { Area, Problem, RequestForm } from "./ui";
import { phoneDigits } from "./values";

const CHANGES = ["phones", "sessions"];

function phoneOf(text: string): string {
  const phone = phoneDigits(text);
  if (!phone) throw new Error("Type the number of the phone that scans.");
  return phone;
}

interface Props {
  own?: string; // the phone that scans; without it, it is typed
  phones?: string[]; // what is offered then
  onDone?: () => void;
}

/** Scans a QR code with a phone: by camera, from a picture, or pasted as text or screenshot. */
export function ScanForm({ own, phones = [], onDone }: Props) {
  const [typed, setPhone] = useState<string | null>(null);
  const phone = own ?? typed ?? phones[0] ?? "";
  const [code, setCode] = useState("");
  const [camera, setCamera] = useState(false);
  const [problem, setProblem] = useState("");
  const build = (): Request => {
    if (!code.trim()) throw new Error("Paste the code, choose a picture of it, or use the camera.");
    return { method: "POST", path: path`phones/${phoneOf(phone)}/scan`, body: { code: code.trim() } };
  };
  const take = async (file: Blob | null | undefined) => {
    if (!file) return;
    setProblem("");
    try {
      setCode(await readPicture(file));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const paste = (event: TargetedClipboardEvent<HTMLTextAreaElement>) => {
    const picture = [...(event.clipboardData?.files ?? [])].find((file) => file.type.startsWith("image/"));
    if (!picture) return;
    event.preventDefault();
    take(picture);
  };
  const done = () => {
    setCode("");
    onDone?.();
  };
  return (
    <>
      {camera && (
        <Camera
          onEnd={() => setCamera(false)}
          onCode={(text) => {
            setCode(text);
            setCamera(false);
          }}
        />
      )}
      <RequestForm submit="Scan" build={build} changes={CHANGES} onDone={done}>
        {own ? null : (
          <Field
            label="Phone that scans"
            value={phone}
            onChange={setPhone}
            inputMode="tel"
            list={phones}
            hint="Any number; it need not exist yet"
          />
        )}
        <Area
          label="Code"
          value={code}
          onChange={setCode}
          onPaste={paste}
          rows={3}
          hint="Paste the text of the code, or a screenshot of it."
        />
        <div class="row">
          <label class="button file">
            Choose a picture
            <input
              type="file"
              accept="image/*"
              onChange={(event) => {
                take(event.currentTarget.files?.[0]);
                event.currentTarget.value = "";
              }}
            />
          </label>
          {!camera && (
            <button type="button" class="button" onClick={() => setCamera(true)}>
              Use the camera
            </button>
          )}
        </div>
        <Problem text={problem} />
      </RequestForm>
    </>
  );
}

/** Types a pairing code on a phone. */
export function PairForm({ own, phones = [], onDone }: Props) {
  const [typed, setPhone] = useState<string | null>(null);
  const phone = own ?? typed ?? phones[0] ?? "";
  const [code, setCode] = useState("");
  const build = (): Request => {
    if (!code.trim()) throw new Error("Type the pairing code that your program shows.");
    return { method: "POST", path: path`phones/${phoneOf(phone)}/pair`, body: { code: code.trim() } };
  };
  const done = () => {
    setCode("");
    onDone?.();
  };
  return (
    <RequestForm submit="Link" build={build} changes={CHANGES} onDone={done}>
      {own ? null : <Field label="Phone" value={phone} onChange={setPhone} inputMode="tel" list={phones} />}
      <Field label="Pairing code" value={code} onChange={setCode} hint="Eight characters, such as ABCD-1234" />
    </RequestForm>
  );
}
