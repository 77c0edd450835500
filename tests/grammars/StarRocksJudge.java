import io.github.melin.superior.parser.starrocks.antlr4.StarRocksLexer;
import io.github.melin.superior.parser.starrocks.antlr4.StarRocksParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.antlr.v4.runtime.BaseErrorListener;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.RecognitionException;
import org.antlr.v4.runtime.Recognizer;
import org.antlr.v4.runtime.Token;

/**
 * Reads a file with one statement a line, {@code \}{@code u000a} for a line break within, and prints a line for each:
 * {@code taken}, or {@code refused} and why.
 */
public class StarRocksJudge {
    /** Characters of a message: those of this grammar list every word that it would have liked better. */
    private static final int SHOWN = 120;

    public static void main(String[] files) throws IOException {
        for (String line : Files.readAllLines(Path.of(files[0]))) {
            System.out.println(verdict(line.replace("\\u000a", "\n")));
        }
    }

    private static String verdict(String sql) {
        List<String> errors = new ArrayList<>();
        BaseErrorListener listener = new BaseErrorListener() {
            @Override
            public void syntaxError(
                    Recognizer<?, ?> recognizer, Object symbol, int line, int column, String message,
                    RecognitionException cause) {
                String shown = message.substring(0, Math.min(message.length(), SHOWN));
                errors.add(column + ": " + shown.replace("\n", " "));
            }
        };
        StarRocksLexer lexer = new StarRocksLexer(CharStreams.fromString(sql.toUpperCase(Locale.ROOT)));
        StarRocksParser parser = new StarRocksParser(new CommonTokenStream(lexer));
        lexer.removeErrorListeners();
        parser.removeErrorListeners();
        lexer.addErrorListener(listener);
        parser.addErrorListener(listener);
        boolean one = parser.sqlStatements().singleStatement().size() == 1;
        boolean all = parser.getCurrentToken().getType() == Token.EOF;
        return errors.isEmpty() && one && all ? "taken" : "refused " + errors;
    }
}
