import { encode } from "uqr";

/** A QR code as a picture, drawn here: its content is sent to nobody. */
export function QrCode({ value, label, size = 208 }: { value: string; label: string; size?: number }) {
  const { data, size: modules } = encode(value, { border: 2 });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg width={size} height={size} viewBox={`0 0 ${modules} ${modules}`} role="img" aria-label={label}>
      <rect width={modules} height={modules} rx={1.5} fill="#fff" />
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
