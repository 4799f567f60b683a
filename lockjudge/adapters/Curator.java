/* Apache Curator: InterProcessMutex of ZooKeeper, with a listener of the connection's state (its documentation asks for it): after
 * SUSPENDED a holder cannot be certain until RECONNECTED, after LOST it holds nothing. The session has the TTL.
 *
 * Usage: curator.sh HOST:PORT */
import java.util.Scanner;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

public class Curator {
    static String servers;
    static CuratorFramework client;
    static InterProcessMutex lock;
    static volatile boolean hasLock, isSuspect, isLost;

    static void onState(CuratorFramework from, ConnectionState state) {
        isSuspect = !state.isConnected();
        isLost = state == ConnectionState.LOST || (isLost && hasLock);
        if (hasLock)
            System.out.println(isLost ? "!lost" : isSuspect ? "!suspect" : "!held");
    }

    static CuratorFramework newClient(int ttlMs) {
        return CuratorFrameworkFactory.newClient(servers, ttlMs, Math.min(ttlMs, 5000), new ExponentialBackoffRetry(100, 3));
    }

    /* Java loads some thousand classes for the first lock. It does so before a trial begins. */
    static void loadClasses() throws Exception {
        try (CuratorFramework first = newClient(10000)) {
            first.start();
            InterProcessMutex mutex = new InterProcessMutex(first, "/lockjudge/load-" + ProcessHandle.current().pid());
            if (mutex.acquire(10, TimeUnit.SECONDS))
                mutex.release();
        }
    }

    static String acquire(String name, int ttlMs, long waitMs) throws Exception {
        if (client == null) {
            client = newClient(ttlMs);
            client.getConnectionStateListenable().addListener(Curator::onState);
            client.start();
        }
        lock = new InterProcessMutex(client, "/lockjudge/" + name);
        hasLock = lock.acquire(waitMs, TimeUnit.MILLISECONDS);
        return hasLock ? "held -" : "busy";
    }

    static String release() throws Exception {
        hasLock = false;
        lock.release();
        return isLost ? "lost" : "released";
    }

    static void churn(InterProcessMutex mutex, long endNs) {
        while (System.nanoTime() - endNs < 0) {
            try {
                mutex.acquire();
                mutex.release();
            } catch (Exception error) { // the held lock is judged, not this one
            }
        }
    }

    /* A thread for each lock: an InterProcessMutex belongs to the thread that acquired it. */
    static String load(String name, int count, long forMs) {
        long endNs = System.nanoTime() + forMs * 1000000;
        for (int i = 0; i < count; i++) {
            InterProcessMutex mutex = new InterProcessMutex(client, "/lockjudge/" + name + "-" + i);
            Thread thread = new Thread(() -> churn(mutex, endNs));
            thread.setDaemon(true);
            thread.start();
        }
        return "loaded";
    }

    static String answer(String[] words) throws Exception {
        if (words[0].equals("acquire"))
            return acquire(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3]));
        if (words[0].equals("load"))
            return load(words[1], Integer.parseInt(words[2]), Long.parseLong(words[4]));
        if (words[0].equals("release"))
            return release();
        return hasLock && lock.isAcquiredInThisProcess() && !isSuspect && !isLost ? "held" : "lost";
    }

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        loadClasses();
        System.out.println("ready caps=ttl,renew,fair,told,reentrant,load");
        for (Scanner input = new Scanner(System.in); input.hasNextLine();) {
            try {
                System.out.println(answer(input.nextLine().split(" ")));
            } catch (Exception error) {
                System.out.println("error " + error.toString().replaceAll("\\s+", " "));
            }
        }
        System.exit(0);
    }
}
