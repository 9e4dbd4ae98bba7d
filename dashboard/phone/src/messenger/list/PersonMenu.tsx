import { openChat } from "../../shared/route";
import type { Person } from "../../shared/types";
import { toggleAdding } from "../adding";
import { usePhone } from "../phone";
import { LinkedSheet } from "../sheets/LinkedSheet";
import { NumberSheet } from "../sheets/NumberSheet";
import { OfflineSheet } from "../sheets/OfflineSheet";
import { ReadsSheet } from "../sheets/ReadsSheet";
import { soundOn, toggleSound } from "../sound";
import { Menu } from "../ui/Menu";

/** What a person changes about the phone itself. */
export function PersonMenu({ name, profile }: { name: string; profile: Person | null }) {
  const phone = usePhone();
  return (
    <Menu
      label={`Menu of ${name}`}
      items={[
        {
          icon: "eye",
          label: "Read receipts",
          onSelect: () => phone.show(<ReadsSheet phone={phone} profile={profile} name={name} />),
        },
        { icon: "offline", label: "Be offline", onSelect: () => phone.show(<OfflineSheet phone={phone} />) },
        {
          icon: "link",
          label: "Linked devices",
          onSelect: () => phone.show(<LinkedSheet phone={phone} />),
        },
        {
          icon: "swap",
          label: "Change number",
          onSelect: () => {
            openChat(phone.person, null);
            phone.show(<NumberSheet phone={phone} />);
          },
        },
        {
          icon: soundOn.value ? "silent" : "bell",
          label: soundOn.value ? "Switch the sound off" : "Switch the sound on",
          onSelect: toggleSound,
        },
        { icon: "plus", label: "Add a phone", onSelect: toggleAdding },
      ]}
    />
  );
}
