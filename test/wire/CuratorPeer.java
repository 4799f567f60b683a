/* A lock of Apache Curator, with commands on stdin: `take PATH WAIT_MS` answers held or busy, `give` answers
 * given or lost. */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

public class CuratorPeer {
    public static void main(String[] arguments) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(arguments[0], 10000, 10000, new RetryOneTime(100));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        InterProcessMutex lock = null;

        client.start();
        client.blockUntilConnected();
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("take")) {
                lock = new InterProcessMutex(client, words[1]);
                System.out.println(lock.acquire(Long.parseLong(words[2]), TimeUnit.MILLISECONDS) ? "held" : "busy");
            } else {
                lock.release();
                System.out.println("given");
            }
        }
        client.close();
    }
}
