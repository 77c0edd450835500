/** Two languages. Each folder of pages has its own texts, in both. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { I18nProvider } from "react-aria-components";
import { spelled } from "./ui/marks";

export type Language = "en" | "zh";

export interface Texts<T> {
  en: T;
  zh: T;
}

const KEY = "lakeport.language";
const Current = createContext<{ language: Language; setLanguage: (language: Language) => void }>({
  language: "en",
  setLanguage: () => undefined,
});

/** The zone in which times are shown: the server's, once it is known. */
export const ServerZone = createContext<string | undefined>(undefined);

/** By which numbers and times are written. */
const LOCALES: Record<Language, string> = { en: "en-GB", zh: "zh-CN" };

/** Hours, minutes and seconds of a duration. */
const DURATIONS: Record<Language, [string, string, string]> = { en: ["h", "min", "s"], zh: ["小时", "分", "秒"] };

function first(): Language {
  const kept = localStorage.getItem(KEY);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(first);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    localStorage.setItem(KEY, language);
  }, [language]);
  const value = useMemo(() => ({ language, setLanguage }), [language]);
  return (
    <Current.Provider value={value}>
      <I18nProvider locale={LOCALES[language]}>{children}</I18nProvider>
    </Current.Provider>
  );
}

export function useLanguage() {
  return useContext(Current);
}

/** The texts in the reader's language. */
export function useTexts<T>(texts: Texts<T>): T {
  return guarded(texts[useContext(Current).language]);
}

const GUARDED = new WeakMap<object, unknown>();

/**
 * The same texts, safe for what others wrote: the names that go into sentences have no unseen characters, and a look-up by
 * a foreign key finds texts only, where `constructor` would find a function.
 */
function guarded<T>(texts: T): T {
  if (typeof texts === "function") return ((...given: unknown[]) => texts(...given.map(spelledOut))) as T;
  if (typeof texts !== "object" || texts === null || Array.isArray(texts)) return texts;
  const known = GUARDED.get(texts);
  if (known) return known as T;
  const made = Object.assign(Object.create(null), Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, guarded(text)])));
  GUARDED.set(texts, made);
  return made as T;
}

const spelledOut = (given: unknown) => (typeof given === "string" ? spelled(given) : given);

/** Numbers as the reader writes them, and times as the server does. */
export function useFormat() {
  const { language } = useContext(Current);
  const timeZone = useContext(ServerZone);
  return useMemo(() => {
    const locale = LOCALES[language];
    const number = new Intl.NumberFormat(locale);
    // Swedish writes times as the interface does: 2026-11-29 16:34:50.
    const instant = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone });
    const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
    // A time without an offset is in the server's zone: it is shown as it came.
    const isInstant = (text: string) => text.includes("T");
    const time = (text: string) => (isInstant(text) ? instant.format(new Date(text)) : text);
    return {
      number: (value: number) => number.format(value),
      time,
      /** With the zone, where that is known. */
      exact: (text: string) => (timeZone === undefined ? time(text) : `${time(text)} ${timeZone}`),
      day: (text: string) => time(text).slice(0, 10),
      /** Of an instant that has passed: "3 minutes ago". */
      ago: (text: string) => {
        if (!isInstant(text)) return text;
        // The reader's clock may be behind the server's.
        const seconds = Math.min(0, (new Date(text).getTime() - Date.now()) / 1000);
        const units: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86_400], ["hour", 3_600], ["minute", 60]];
        for (const [unit, length] of units) {
          if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
        }
        return relative.format(Math.round(seconds), "second");
      },
      bytes: (value: number) => {
        const units = ["B", "kB", "MB", "GB", "TB", "PB"];
        let place = 0;
        while (value >= 1000 && place < units.length - 1) {
          value /= 1000;
          place += 1;
        }
        return `${number.format(Number(value.toPrecision(3)))} ${units[place]}`;
      },
      seconds: (value: number) => {
        const [hour, minute, second] = DURATIONS[language];
        if (value < 60) return `${number.format(Number(value.toPrecision(2)))} ${second}`;
        const minutes = Math.floor(value / 60);
        return minutes < 60
          ? `${minutes} ${minute} ${Math.round(value % 60)} ${second}`
          : `${Math.floor(minutes / 60)} ${hour} ${minutes % 60} ${minute}`;
      },
    };
  }, [language, timeZone]);
}
