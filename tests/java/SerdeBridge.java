import com.amazonaws.services.schemaregistry.deserializers.avro.AWSKafkaAvroDeserializer;
import com.amazonaws.services.schemaregistry.serializers.avro.AWSKafkaAvroSerializer;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericContainer;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.JsonEncoder;
import org.apache.avro.io.EncoderFactory;

/**
 * Gives AWS's own Kafka serialiser and deserialiser to another process: one request a line on stdin, one answer a line on
 * stdout. Fields are separated by tabs; texts are in Base64, messages in hexadecimal, "-" stands for null.
 *
 * <pre>
 * write PROPERTIES TOPIC SCHEMA AVRO-JSON...   ok MESSAGE...
 * read  PROPERTIES TOPIC MESSAGE...            ok SCHEMA AVRO-JSON...
 * </pre>
 */
public final class SerdeBridge {
    private static final PrintStream OUT = System.out;

    public static void main(String[] arguments) throws Exception {
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                String[] parts = line.split("\t");
                answer = "ok\t" + String.join("\t", parts[0].equals("write") ? write(parts) : read(parts));
            } catch (Exception | Error error) {
                answer = "error\t" + encode(causes(error));
            }
            OUT.println(answer);
            OUT.flush();
        }
    }

    private static List<String> write(String[] parts) throws Exception {
        Schema schema = new Schema.Parser().parse(decode(parts[3]));
        List<String> messages = new ArrayList<>();
        try (AWSKafkaAvroSerializer serializer = new AWSKafkaAvroSerializer(properties(parts[1]))) {
            for (int index = 4; index < parts.length; index++) {
                Object value = parts[index].equals("-") ? null : value(schema, decode(parts[index]));
                byte[] message = serializer.serialize(parts[2], value);
                messages.add(message == null ? "-" : HexFormat.of().formatHex(message));
            }
        }
        return messages;
    }

    private static List<String> read(String[] parts) throws Exception {
        List<String> values = new ArrayList<>();
        String schema = "-";
        try (AWSKafkaAvroDeserializer deserializer = new AWSKafkaAvroDeserializer(properties(parts[1]))) {
            for (int index = 3; index < parts.length; index++) {
                byte[] message = parts[index].equals("-") ? null : HexFormat.of().parseHex(parts[index]);
                Object value = deserializer.deserialize(parts[2], message);
                if (value == null) {
                    values.add("-");
                    continue;
                }
                Schema written = ((GenericContainer) value).getSchema();
                schema = encode(written.toString());
                values.add(encode(json(written, value)));
            }
        }
        values.add(0, schema);
        return values;
    }

    private static Object value(Schema schema, String json) throws Exception {
        return new GenericDatumReader<>(schema).read(null, DecoderFactory.get().jsonDecoder(schema, json));
    }

    private static String json(Schema schema, Object value) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        JsonEncoder encoder = EncoderFactory.get().jsonEncoder(schema, bytes);
        new GenericDatumWriter<>(schema, GenericData.get()).write(value, encoder);
        encoder.flush();
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static Map<String, Object> properties(String text) {
        return decode(text).lines().map(line -> line.split("=", 2))
            .collect(Collectors.toMap(pair -> pair[0], pair -> (Object) pair[1], (first, second) -> second, HashMap::new));
    }

    private static String causes(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            text.append(cause).append(" | ");
        }
        return text.toString();
    }

    private static String decode(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }

    private static String encode(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
