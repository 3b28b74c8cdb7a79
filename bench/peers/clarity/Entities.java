import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import skadistats.clarity.model.Entity;
import skadistats.clarity.model.FieldPath;
import skadistats.clarity.processor.entities.OnEntityCreated;
import skadistats.clarity.processor.entities.OnEntityUpdated;
import skadistats.clarity.processor.entities.UsesEntities;
import skadistats.clarity.processor.runner.SimpleRunner;
import skadistats.clarity.source.MappedFileSource;

/** Decodes all entities of a demo several times with clarity, and prints the shortest processor time: that of a JVM that is warm. */
@UsesEntities
public class Entities {
	private long count;

	@OnEntityUpdated
	public void updated(Entity entity, FieldPath[] paths, int n) {
		count++;
	}

	@OnEntityCreated
	public void created(Entity entity) {
		count++;
	}

	public static void main(String[] args) throws Exception {
		OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
		double best = Double.MAX_VALUE;
		long count = 0;
		for (int runs = Integer.parseInt(args[0]); runs > 0; runs--) {
			Entities entities = new Entities();
			long used = system.getProcessCpuTime();
			new SimpleRunner(new MappedFileSource(args[1])).runWith(entities);
			best = Math.min(best, (system.getProcessCpuTime() - used) / 1e9);
			count = entities.count;
		}
		System.out.printf("{\"cpu\":%f,\"n\":%d}%n", best, count);
	}
}
