import com.amazonaws.services.schemaregistry.deserializers.GlueSchemaRegistryKafkaDeserializer;
import com.amazonaws.services.schemaregistry.serializers.GlueSchemaRegistryKafkaSerializer;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import java.io.BufferedReader;
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

/**
 * AWS's own Kafka serialiser and deserialiser for Protobuf, driven by lines like SerdeBridge; messages are in hexadecimal.
 *
 * <pre>
 * write PROPERTIES TOPIC DESCRIPTOR-SET MESSAGE-NAME BYTES...   ok FRAME...
 * read  PROPERTIES TOPIC FRAME...                               ok MESSAGE-NAME BYTES ...
 * </pre>
 */
public final class ProtobufBridge {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                String[] parts = line.split("\t");
                answer = "ok\t" + String.join("\t", parts[0].equals("write") ? write(parts) : read(parts));
            } catch (Exception | Error error) {
                StringBuilder causes = new StringBuilder();
                for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                    causes.append(cause).append(" | ");
                }
                answer = "error\t" + Base64.getEncoder().encodeToString(causes.toString().getBytes(StandardCharsets.UTF_8));
            }
            out.println(answer);
            out.flush();
        }
    }

    private static List<String> write(String[] parts) throws Exception {
        Descriptor type = descriptor(Base64.getDecoder().decode(parts[3]), parts[4]);
        List<String> frames = new ArrayList<>();
        try (GlueSchemaRegistryKafkaSerializer serializer = new GlueSchemaRegistryKafkaSerializer(properties(parts[1]))) {
            for (int index = 5; index < parts.length; index++) {
                DynamicMessage message = DynamicMessage.parseFrom(type, HexFormat.of().parseHex(parts[index]));
                frames.add(HexFormat.of().formatHex(serializer.serialize(parts[2], message)));
            }
        }
        return frames;
    }

    private static List<String> read(String[] parts) throws Exception {
        List<String> values = new ArrayList<>();
        try (GlueSchemaRegistryKafkaDeserializer deserializer = new GlueSchemaRegistryKafkaDeserializer(properties(parts[1]))) {
            for (int index = 3; index < parts.length; index++) {
                DynamicMessage message =
                    (DynamicMessage) deserializer.deserialize(parts[2], HexFormat.of().parseHex(parts[index]));
                values.add(message.getDescriptorForType().getFullName());
                values.add(HexFormat.of().formatHex(message.toByteArray()));
            }
        }
        return values;
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

    private static Map<String, Object> properties(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8).lines().map(line -> line.split("=", 2))
            .collect(Collectors.toMap(pair -> pair[0], pair -> (Object) pair[1], (first, second) -> second, HashMap::new));
    }
}
