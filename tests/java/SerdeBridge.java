import com.amazonaws.services.schemaregistry.deserializers.avro.AWSKafkaAvroDeserializer;
import com.amazonaws.services.schemaregistry.serializers.avro.AWSKafkaAvroSerializer;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericContainer;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.JsonEncoder;
import org.apache.avro.io.EncoderFactory;

/**
 * AWS's own Kafka serialiser and deserialiser for Avro; texts are in Base64, messages in hexadecimal, "-" stands for null.
 *
 * <pre>
 * write PROPERTIES TOPIC SCHEMA AVRO-JSON...   ok MESSAGE...
 * read  PROPERTIES TOPIC MESSAGE...            ok SCHEMA AVRO-JSON...
 * </pre>
 */
public final class SerdeBridge {
    public static void main(String[] arguments) throws Exception {
        Bridge.serve(parts -> parts[0].equals("write") ? write(parts) : read(parts));
    }

    private static List<String> write(String[] parts) throws Exception {
        Schema schema = new Schema.Parser().parse(Bridge.text(parts[3]));
        List<String> messages = new ArrayList<>();
        try (AWSKafkaAvroSerializer serializer = new AWSKafkaAvroSerializer(Bridge.properties(parts[1]))) {
            for (int index = 4; index < parts.length; index++) {
                Object value = parts[index].equals("-") ? null : value(schema, Bridge.text(parts[index]));
                byte[] message = serializer.serialize(parts[2], value);
                messages.add(message == null ? "-" : Bridge.hexadecimal(message));
            }
        }
        return messages;
    }

    private static List<String> read(String[] parts) throws Exception {
        List<String> values = new ArrayList<>();
        String schema = "-";
        try (AWSKafkaAvroDeserializer deserializer = new AWSKafkaAvroDeserializer(Bridge.properties(parts[1]))) {
            for (int index = 3; index < parts.length; index++) {
                byte[] message = parts[index].equals("-") ? null : Bridge.bytes(parts[index]);
                Object value = deserializer.deserialize(parts[2], message);
                if (value == null) {
                    values.add("-");
                    continue;
                }
                Schema written = ((GenericContainer) value).getSchema();
                schema = Bridge.base64(written.toString());
                values.add(Bridge.base64(json(written, value)));
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
}
