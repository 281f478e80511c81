import com.amazonaws.services.schemaregistry.deserializers.GlueSchemaRegistryKafkaDeserializer;
import com.amazonaws.services.schemaregistry.serializers.GlueSchemaRegistryKafkaSerializer;
import com.amazonaws.services.schemaregistry.serializers.json.JsonDataWithSchema;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import com.kjetland.jackson.jsonSchema.annotations.JsonSchemaInject;
import com.kjetland.jackson.jsonSchema.annotations.JsonSchemaString;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericContainer;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

/**
 * AWS's own Kafka serialiser and deserialiser for all formats; texts are in Base64, messages in hexadecimal.
 *
 * <pre>
 * avro      PROPERTIES TOPIC SCHEMA BYTES...                  ok FRAME...
 * json      PROPERTIES TOPIC SCHEMA JSON...                   ok FRAME...
 * object    PROPERTIES TOPIC JSON...                          ok FRAME...
 * dynamic   PROPERTIES TOPIC DESCRIPTOR-SET MESSAGE BYTES...  ok FRAME...
 * generated PROPERTIES TOPIC CLASS BYTES...                   ok FRAME...
 * read      PROPERTIES TOPIC FRAME...                         ok CLASS SCHEMA-OR-MESSAGE VALUE ...
 * </pre>
 */
public final class FormatsBridge {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** An object whose schema AWS's serialiser derives by itself, and which it makes again by the name in that schema. */
    @JsonSchemaInject(strings = {@JsonSchemaString(path = "className", value = "FormatsBridge$Flight")})
    public static final class Flight {
        @JsonProperty(required = true)
        public int flight;
        public String tailnum;
        public double delay;
        public List<String> stops;
        public Map<String, Long> seats;
    }

    private interface Parser {
        Object parse(String part) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Bridge.serve(FormatsBridge::answer);
    }

    private static List<String> answer(String[] parts) throws Exception {
        switch (parts[0]) {
            case "avro":
                Schema avro = new Schema.Parser().parse(Bridge.text(parts[3]));
                return write(parts, 4, part -> new GenericDatumReader<>(avro)
                    .read(null, DecoderFactory.get().binaryDecoder(Bridge.bytes(part), null)));
            case "json":
                String schema = Bridge.text(parts[3]);
                return write(parts, 4, part -> JsonDataWithSchema.builder(schema, Bridge.text(part)).build());
            case "object":
                return write(parts, 3, part -> MAPPER.readValue(Bridge.text(part), Flight.class));
            case "dynamic":
                Descriptor type = descriptor(Bridge.bytes(parts[3]), parts[4]);
                return write(parts, 5, part -> DynamicMessage.parseFrom(type, Bridge.bytes(part)));
            case "generated":
                Message empty = (Message) Class.forName(parts[3]).getMethod("getDefaultInstance").invoke(null);
                return write(parts, 4, part -> empty.getParserForType().parseFrom(Bridge.bytes(part)));
            default:
                return read(parts);
        }
    }

    private static List<String> write(String[] parts, int from, Parser parser) throws Exception {
        List<String> frames = new ArrayList<>();
        try (GlueSchemaRegistryKafkaSerializer made = new GlueSchemaRegistryKafkaSerializer(Bridge.properties(parts[1]))) {
            for (int index = from; index < parts.length; index++) {
                frames.add(Bridge.hexadecimal(made.serialize(parts[2], parser.parse(parts[index]))));
            }
        }
        return frames;
    }

    private static List<String> read(String[] parts) throws Exception {
        List<String> values = new ArrayList<>();
        try (GlueSchemaRegistryKafkaDeserializer made = new GlueSchemaRegistryKafkaDeserializer(Bridge.properties(parts[1]))) {
            for (int index = 3; index < parts.length; index++) {
                Object value = made.deserialize(parts[2], Bridge.bytes(parts[index]));
                values.add(value.getClass().getName());
                if (value instanceof Message) {
                    values.add(Bridge.base64(((Message) value).getDescriptorForType().getFullName()));
                    values.add(Bridge.hexadecimal(((Message) value).toByteArray()));
                } else if (value instanceof JsonDataWithSchema) {
                    values.add(Bridge.base64(((JsonDataWithSchema) value).getSchema()));
                    values.add(Bridge.hexadecimal(((JsonDataWithSchema) value).getPayload().getBytes("UTF-8")));
                } else if (value instanceof GenericContainer) {
                    Schema schema = ((GenericContainer) value).getSchema();
                    values.add(Bridge.base64(schema.toString()));
                    values.add(Bridge.hexadecimal(binary(schema, value)));
                } else {
                    values.add("");
                    values.add(Bridge.hexadecimal(MAPPER.writeValueAsBytes(value)));
                }
            }
        }
        return values;
    }

    private static byte[] binary(Schema schema, Object value) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(bytes, null);
        new GenericDatumWriter<>(schema).write(value, encoder);
        encoder.flush();
        return bytes.toByteArray();
    }

    private static Descriptor descriptor(byte[] set, String name) throws Exception {
        Map<String, FileDescriptor> built = new HashMap<>();
        FileDescriptor last = null;
        for (FileDescriptorProto file : FileDescriptorSet.parseFrom(set).getFileList()) {
            FileDescriptor[] imports = file.getDependencyList().stream().map(built::get).toArray(FileDescriptor[]::new);
            last = FileDescriptor.buildFrom(file, imports);
            built.put(file.getName(), last);
        }
        Descriptor found = null;
        for (String step : name.split("/")) {
            found = found == null ? last.findMessageTypeByName(step) : found.findNestedTypeByName(step);
        }
        return found;
    }
}
