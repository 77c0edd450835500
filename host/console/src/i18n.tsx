/** Two languages. Each folder of pages has its own texts, in both. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { I18nProvider } from "react-aria-components";

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

/** By which numbers and times are written. */
const LOCALES: Record<Language, string> = { en: "en-GB", zh: "zh-CN" };

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
  return texts[useContext(Current).language];
}

/** Numbers and times as the reader writes them. */
export function useFormat() {
  const { language } = useContext(Current);
  return useMemo(() => {
    const locale = LOCALES[language];
    const number = new Intl.NumberFormat(locale);
    const time = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
    const exact = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" });
    const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
    const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
    // A time without an offset is in the server's zone: it is shown as it came.
    const isInstant = (text: string) => text.includes("T");
    return {
      number: (value: number) => number.format(value),
      time: (text: string) => (isInstant(text) ? time.format(new Date(text)) : text),
      /** With the reader's zone, where it is in that. */
      exact: (text: string) => (isInstant(text) ? exact.format(new Date(text)) : text),
      day: (text: string) => (isInstant(text) ? day.format(new Date(text)) : text.slice(0, 10)),
      /** Of an instant: "3 minutes ago". */
      ago: (text: string) => {
        if (!isInstant(text)) return text;
        const seconds = (new Date(text).getTime() - Date.now()) / 1000;
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
        if (value < 60) return `${number.format(Number(value.toPrecision(2)))} s`;
        const minutes = Math.floor(value / 60);
        return minutes < 60
          ? `${minutes} min ${Math.round(value % 60)} s`
          : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
      },
    };
  }, [language]);
}
