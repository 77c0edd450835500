/** Light, dark, or as the system is. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";

export type Theme = "light" | "dark";

const KEY = "lakeport.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const Current = createContext<{ theme: Theme; toggle: () => void }>({ theme: "light", toggle: () => undefined });

export function ThemeProvider({ children }: { children: ReactNode }) {
  const [kept, setKept] = useState(() => localStorage.getItem(KEY));
  const [isDark, setDark] = useState(system.matches);
  useEffect(() => {
    const changed = () => setDark(system.matches);
    system.addEventListener("change", changed);
    return () => system.removeEventListener("change", changed);
  }, []);
  const theme: Theme = kept === "light" || kept === "dark" ? kept : isDark ? "dark" : "light";
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const value = useMemo(() => {
    const toggle = () => {
      const other = theme === "dark" ? "light" : "dark";
      localStorage.setItem(KEY, other);
      setKept(other);
    };
    return { theme, toggle };
  }, [theme]);
  return <Current.Provider value={value}>{children}</Current.Provider>;
}

export function useTheme() {
  return useContext(Current);
}
