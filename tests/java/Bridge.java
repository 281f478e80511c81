import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Gives Java code to another process: one request a line on standard input, one answer a line on standard output, fields
 * separated by tabs. An answer begins with "ok", or is "error" and the exception with its causes in Base64.
 */
final class Bridge {
    interface Handler {
        List<String> answer(String[] parts) throws Exception;
    }

    static void serve(Handler handler) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                answer = "ok\t" + String.join("\t", handler.answer(line.split("\t", -1)));
            } catch (Exception | Error error) {
                answer = "error\t" + base64(causes(error));
            }
            out.println(answer);
            out.flush();
        }
    }

    static String text(String base64) {
        return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
    }

    static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    static byte[] bytes(String hexadecimal) {
        return HexFormat.of().parseHex(hexadecimal);
    }

    static String hexadecimal(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    /** Lines of NAME=VALUE in Base64. */
    static Map<String, Object> properties(String base64) {
        return text(base64).lines().map(line -> line.split("=", 2))
            .collect(Collectors.toMap(pair -> pair[0], pair -> (Object) pair[1], (first, second) -> second, HashMap::new));
    }

    private static String causes(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            text.append(cause).append(" | ");
        }
        return text.toString();
    }
}
