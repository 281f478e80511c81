import com.amazonaws.services.schemaregistry.serializers.avro.AWSKafkaAvroSerializer;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider;

/** Configures AWS's serializer without a call to the registry, and names its class. */
public class LoadSerde {
    public static void main(String[] arguments) {
        AWSKafkaAvroSerializer serializer =
                new AWSKafkaAvroSerializer(AnonymousCredentialsProvider.create(), Map.of("region", "us-east-1"));
        System.out.println(serializer.getClass().getName());
        serializer.close();
    }
}
