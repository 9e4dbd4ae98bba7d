import { useEffect, useMemo } from "preact/hooks";
import { now } from "../shared/clock";
import { people, phones, usePerson, useResource } from "../shared/resources";
import { openChat, route } from "../shared/route";
import { chatsOf, chatsProblem, chatsRead, loadChats } from "../shared/store";
import type { Person } from "../shared/types";
import { ChatList } from "./list/ChatList";
import { offlineUntil } from "./logic/profile";
import { barTime, clockTime } from "./logic/times";
import { phoneWord, summary } from "./logic/words";
import { PhoneContext, PhoneState } from "./phone";
import { setOffline } from "./sheets/OfflineSheet";
import { Thread } from "./thread/Thread";
import { UnknownPerson } from "./UnknownPerson";
import { Avatar } from "./ui/Avatar";
import { Icon } from "./ui/Icon";
import { NotRead } from "./ui/NotRead";
import { type Ring, useRing } from "./useRing";

const NAME = 100; // characters that are shown

/** The phone of one person. */
export function Phone({ person }: { person: string }) {
  const phone = useMemo(() => new PhoneState(person), [person]);
  const { profile: found, listed } = usePerson(person);
  const number = route.value.view === "phones" ? (route.value.open[person] ?? null) : null;
  const ring = useRing(person, number);
  const name = (listed && found?.name.slice(0, NAME)) || chatsOf(person)[0]?.name || phoneWord(person);
  const profile = found && (listed ? found : { ...found, name });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a screen that is left takes its sheet along
  useEffect(() => phone.close, [phone, number]);
  const covered = phone.overlay.value !== null;
  useEffect(() => {
    if (!covered) phone.giveFocusBack();
  }, [covered, phone]);
  return (
    <PhoneContext.Provider value={phone}>
      <section class={ring ? "phone ringing" : "phone"} aria-label={`Phone of ${name}`}>
        <div class="phone-screen">
          <div class="phone-content" inert={covered}>
            <StatusBar name={name} phone={phone} profile={profile} />
            <Screen person={person} number={number} name={name} profile={profile} listed={listed} />
          </div>
          {ring && ring.chat.number.id !== number ? <Banner ring={ring} /> : null}
          {phone.overlay.value}
          <p class="notice" role="status">
            {phone.notice.value ? <span>{phone.notice.value}</span> : null}
          </p>
        </div>
        <p class="visually-hidden" aria-live="polite">
          {ring ? `New message from ${ring.chat.number.name}: ${summary(ring.message)}` : ""}
        </p>
      </section>
    </PhoneContext.Provider>
  );
}

interface ScreenProps {
  person: string;
  number: string | null;
  name: string;
  profile: Person | null;
  listed: boolean;
}

function Screen({ person, number, name, profile, listed }: ScreenProps) {
  const linked = useResource(phones);
  const known = listed || chatsOf(person).length > 0 || linked?.some((one) => one.phone === person);
  const read = people.value.value !== null && linked !== null && chatsRead.value.has(person);
  const problem = people.problem.value || phones.problem.value || chatsProblem.value[person];
  if (!known && !read && problem) return <NotRead problem={problem} onAgain={() => readAll(person)} />;
  if (!known && !read) return <div class="screen-wait" />;
  if (!known) return <UnknownPerson person={person} />;
  return number ? <Thread key={number} number={number} /> : <ChatList name={name} profile={profile} />;
}

function readAll(person: string): void {
  people.load();
  phones.load();
  loadChats(person);
}

function StatusBar({ name, phone, profile }: { name: string; phone: PhoneState; profile: Person | null }) {
  const until = offlineUntil(profile, now.value);
  const number = phoneWord(phone.person);
  return (
    <>
      <div class="status-bar">
        <span class="status-time">{now.value ? barTime(now.value) : ""}</span>
        <h1>
          <span dir="auto">{name}</span>
          {name === number ? null : <span class="status-number"> {number}</span>}
        </h1>
        <span class="status-signal">
          <Icon name={until === null ? "signal" : "offline"} size={16} />
          <span class="visually-hidden">{until === null ? "Online" : "Offline"}</span>
        </span>
      </div>
      {until === null ? null : (
        <div class="offline-bar">
          <p>{Number.isFinite(until) ? `Offline until ${clockTime(until)}` : "Offline"}</p>
          <button type="button" class="text-button" onClick={() => setOffline(phone, 0)}>
            Go online
          </button>
        </div>
      )}
    </>
  );
}

/** A message that arrived in a chat that is not open. */
function Banner({ ring }: { ring: Ring }) {
  const { chat, message } = ring;
  return (
    <button type="button" class="banner" onClick={() => openChat(chat.person, chat.number.id)}>
      <Avatar name={chat.number.name} small />
      <span class="file-text">
        <span class="file-name" dir="auto">
          {chat.number.name}
        </span>
        <span class="banner-text" dir="auto">
          {summary(message)}
        </span>
      </span>
    </button>
  );
}
