package planted

// Sets of TestExplore.
const (
	losses        = "^TestExplore$/^losses$"
	lossesBlind   = "^TestExplore$/^losses_without_positions$"
	wrongClocks   = "^TestExplore$/^wrong_clocks$"
	copies        = "^TestExplore$/^copies,_losses$"
	chains        = "^TestChains$"
	parts         = "^TestExplore$/^parts,_losses$"
	counters      = "^TestExplore$/^counters,_losses$"
	countersBlind = "^TestExplore$/^counters,_losses_without_positions$"
)

var bugs = []bug{
	// The floor after a loss.
	{
		name:  "no floor",
		file:  "lease/loss.go",
		right: "m.Floor = max(m.Floor, seen.newFloor(m))",
		wrong: "",
		test:  losses, schedules: 1000,
	},
	{
		name:  "a floor one too short",
		file:  "lease/loss.go",
		right: "seen.later().Add(m.MaxSkew)) + m.Ahead + 1\n",
		wrong: "seen.later().Add(m.MaxSkew)) + m.Ahead\n",
		test:  losses, schedules: 2000,
	},
	{
		name:  "a floor without skew",
		file:  "lease/loss.go",
		right: "seen.later().Add(m.MaxSkew)",
		wrong: "seen.later()",
		test:  losses, schedules: 2000,
	},
	{
		name:  "a floor by the process's clock alone",
		file:  "lease/snapshot.go",
		right: "if seen.Time.After(seen.answered) {",
		wrong: "if false {",
		test:  losses, schedules: 4000,
	},
	{
		name:  "a floor by the clock before the call",
		file:  "lease/snapshot.go",
		right: "	return seen.answered\n",
		wrong: "	return seen.asked\n",
		test:  "^TestFloor$",
	},
	{
		name:  "a floor that falls",
		file:  "lease/loss.go",
		right: "m.Floor = max(m.Floor, seen.newFloor(m))",
		wrong: "m.Floor = seen.newFloor(m) - 2*int64(m.Losses%2)",
		test:  losses, schedules: 2000,
	},

	{
		name:  "a floor of a wrong clock that looks right",
		file:  "lease/loss.go",
		right: "latest := m.WindowOf(seen.later().Add(2*m.MaxSkew)) + m.Ahead + 1",
		wrong: "latest := m.Floor",
		test:  "^TestFloorExcess$",
	},
	{
		name:  "a floor without a mark before it",
		file:  "lease/loss.go",
		right: "return seen.meta != nil && seen.meta.isPending()",
		wrong: "return true",
		test:  losses, schedules: 4000,
	},
	{
		name:  "a mark that another one can't be told from",
		file:  "lease/loss.go",
		right: "	m.ID = cryptorand.Text()\n	value, err",
		wrong: "	value, err",
		test:  "^TestLateFloor$",
	},

	// What shows a loss.
	{
		name:  "a position that went back ignored",
		file:  "lease/known.go",
		right: "case seen.Position != 0 && seen.Position < leastPosition:",
		wrong: "case false:",
		test:  counters, schedules: 1000,
	},
	{
		name:  "the swap itself not counted in the position",
		file:  "lease/known.go",
		right: "		leastPosition++\n",
		wrong: "",
		test:  "^TestLossFound$",
	},
	{
		name:  "a value that went back ignored",
		file:  "lease/known.go",
		right: "case seen.wentBackFrom(seen.knownValue, found):",
		wrong: "case found == nil:",
		test:  lossesBlind, schedules: 1000,
	},
	{
		name:  "the value that a swap replaced ignored",
		file:  "lease/known.go",
		right: "		found = seen.replaced\n",
		wrong: "",
		test:  countersBlind, schedules: 4000,
	},
	{
		name:  "a value that vanished ignored",
		file:  "lease/known.go",
		right: "		return true // it is gone\n",
		wrong: "		return false\n",
		test:  countersBlind, schedules: 4000,
	},
	{
		name:  "only steps of before compared",
		file:  "lease/internal/taken/nodes.go",
		right: "range slices.Concat(before.Steps, after.Steps) {",
		wrong: "range before.Steps {",
		test:  lossesBlind, schedules: 4000,
	},
	{
		name:  "a step compared only where it begins after a later one",
		file:  "lease/internal/taken/nodes.go",
		right: "if after.At(step.From) < before.At(step.From) {",
		wrong: "if step.From > before.Steps[len(before.Steps)-1].From-3 && after.At(step.From) < before.At(step.From) {",
		test:  lossesBlind, schedules: 4000,
	},
	{
		name:  "a counter's period that goes back",
		file:  "lease/counter.go",
		right: "		return after.begin() < before.begin()\n",
		wrong: "		return false\n",
		test:  countersBlind, schedules: 4000,
	},
	{
		name:  "a floor below windows that were seen",
		file:  "lease/known.go",
		right: "return m.Floor > nodes.Newest(end)",
		wrong: "return end > 0 && nodes != nil",
		test:  "^TestFloorOfAnother$",
	},
	{
		name:  "a floor that is lower than the one before",
		file:  "lease/known.go",
		right: " || m.Floor < before.Floor {",
		wrong: " {",
		test:  "^TestLowerFloor$",
	},
	{
		name:  "another space that is older",
		file:  "lease/known.go",
		right: "m.Losses <= before.Losses || ",
		wrong: "",
		test:  losses, schedules: 2000,
	},

	// Trust.
	{
		name:  "another incarnation ignored that is not trusted",
		file:  "lease/meta.go",
		right: "return m.Lineage == a.Lineage && (m.Trust || m.Incarnation == a.Incarnation)",
		wrong: "return m.Lineage == a.Lineage",
		test:  losses, schedules: 1000,
	},
	{
		name:  "trust changed without a floor",
		file:  "lease/trust.go",
		right: "	m.Lineage = retrusted\n",
		wrong: "	m.Lineage = seen.Lineage\n	m.Incarnation = seen.Incarnation\n	m.Losses++\n",
		test:  losses, schedules: 4000,
	},
	{
		name:  "a doubt ignored",
		file:  "lease/trust.go",
		right: "if !trust || seen.Doubt == \"\" {",
		wrong: "if true {",
		test:  losses, schedules: 8000,
	},
	{
		name:  "a doubt ignored that comes with the answer to a swap",
		file:  "lease/update.go",
		right: "if err := after.doubtError(after.meta.Trust); err != nil {",
		wrong: "if err := error(nil); err != nil {",
		test:  "^TestDoubt$",
	},
	{
		name:  "trust that comes back with an older copy",
		file:  "lease/loss.go",
		right: "		m.Trust = false\n",
		wrong: "",
		test:  "^TestLossFound$",
	},

	{
		name:  "a loss forgotten that could not be noted",
		file:  "lease/loss.go",
		right: "		s.known.lost = why\n",
		wrong: "",
		test:  "^TestLossRemembered$",
	},

	// What a handle knows.
	{
		name:  "values learned whatever was known",
		file:  "lease/known.go",
		right: "learnedMeanwhile && after.wentBackFrom(latest, after.value)",
		wrong: "learnedMeanwhile && false",
		test:  lossesBlind, schedules: 8000,
	},
	{
		name:  "a position that may fall",
		file:  "lease/known.go",
		right: "s.known.position = max(s.known.position, after.Position)",
		wrong: "s.known.position = after.Position",
		test:  counters, schedules: 10000,
	},
	{
		name:  "an older space learned",
		file:  "lease/known.go",
		right: "if s.known.meta != nil && s.known.meta.Losses >= after.meta.Losses {",
		wrong: "if false {",
		test:  counters, schedules: 8000,
	},
	{
		name:  "a late answer to the swap of meta",
		file:  "lease/known.go",
		right: "if s.known.meta != nil && s.known.meta.Losses >= after.meta.Losses {",
		wrong: "if false {",
		test:  "^TestLossFound$",
	},

	// A take.
	{
		name: "a swap that does not expect meta",
		file: "lease/snapshot.go",
		right: `	after.Answer, err = s.engine.Swap(ctx, expect, stored)
`,
		wrong: `	after.Answer, err = s.engine.Swap(ctx, expect[1:], stored)
	if err == nil && !after.Swapped {
		after.Answer, err = s.engine.Read(ctx, expect[0].Name, expect[1].Name)
	}
`,
		test: losses, schedules: 4000,
	},
	{
		name:  "an unknown outcome taken for a success",
		file:  "lease/update.go",
		right: "			return attempts.markBusy(ctx, err)\n",
		wrong: "			return nil\n",
		test:  losses, schedules: 1000,
	},
	{
		name:  "a swap that changed nothing taken for a success",
		file:  "lease/update.go",
		right: "		if after.Swapped {\n			return",
		wrong: "		if after.Swapped || attempts.losses > 0 {\n			return",
		test:  losses, schedules: 1000,
	},
	{
		name:  "a loss after the swap ignored",
		file:  "lease/update.go",
		right: "	loss := after.loss()\n	if loss == \"\" {",
		wrong: "	loss := after.loss()\n	if true {",
		test:  losses, schedules: 4000,
	},
	{
		name:  "merged windows made anew",
		file:  "lease/internal/taken/nodes.go",
		right: "a.Next = max(a.Next, b.Next)",
		wrong: "a.Next = min(a.Next, b.Next)",
		test:  wrongClocks, schedules: 1000,
	},
	{
		name:  "windows before the floor granted",
		file:  "lease/take.go",
		right: "	if window < m.Floor {",
		wrong: "	if false {",
		test:  losses, schedules: 1000,
	},
	{
		name:  "beyond the limit ahead",
		file:  "lease/take.go",
		right: "ahead <= m.Ahead {",
		wrong: "ahead <= m.Ahead+2 {",
		test:  losses, schedules: 2000,
	},
	{
		name:  "a second outside the window",
		file:  "lease/take.go",
		right: "End:       m.start(window + 1),",
		wrong: "End:       m.start(window + 1).Add(time.Second),",
		test:  wrongClocks, schedules: 1000,
	},
	{
		name:  "beyond the nodes of the space",
		file:  "lease/reserve.go",
		right: "return 0, m.mainNodes()\n",
		wrong: "return 0, m.mainNodes() + 1\n",
		test:  wrongClocks, schedules: 1000,
	},

	// The reserve.
	{
		name:  "a floor and a tick by the slower clock",
		file:  "lease/snapshot.go",
		right: "if seen.Time.After(seen.answered) {",
		wrong: "if !seen.Time.IsZero() && seen.Time.Before(seen.answered) {",
		test:  losses, schedules: 4000,
	},
	{
		name:  "a slice open at once",
		file:  "lease/take.go",
		right: "case t.seen.asked.Before(reserveOpens):",
		wrong: "case false:",
		test:  losses, schedules: 4000,
	},
	{
		name:  "a slice open in the middle of its tick",
		file:  "lease/reserve.go",
		right: "return l.tickStart(tick + 1).Add(l.MaxSkew)",
		wrong: "return l.tickStart(tick).Add(time.Duration(l.tickSeconds()) * time.Second / 2).Add(l.MaxSkew)",
		test:  "^TestSlice$",
	},
	{
		name:  "a slice open as soon as the tick is over by one clock",
		file:  "lease/reserve.go",
		right: "return l.tickStart(tick + 1).Add(l.MaxSkew)",
		wrong: "return l.tickStart(tick + 1)",
		test:  losses, schedules: 4000,
	},
	{
		name:  "windows before the tick",
		file:  "lease/take.go",
		right: "case window < first || window >= end:",
		wrong: "case window >= end:",
		test:  "^TestSlice$",
	},
	{
		name:  "the tick of the loss before",
		file:  "lease/loss.go",
		right: "	m.Tick = m.tickOf(seen.later())\n",
		wrong: "	if m.Tick == 0 {\n		m.Tick = m.tickOf(seen.later())\n	}\n",
		test:  losses, schedules: 4000,
	},
	{
		name:  "a slice by the count of losses",
		file:  "lease/loss.go",
		right: "	m.Tick = m.tickOf(seen.later())\n",
		wrong: "	m.Tick = m.tickOf(seen.later())/64*64 + int64(m.Losses)\n",
		test:  losses, schedules: 4000,
	},
	{
		name:  "a lease beyond the end of the slice",
		file:  "lease/take.go",
		right: "if int64(next)+int64(t.n) > int64(end) {",
		wrong: "if next >= end {",
		test:  losses, schedules: 4000,
	},
	{
		name:  "the reserve of a space made again by hand",
		file:  "lease/take.go",
		right: "if m.Tick == 0 || window < m.Begin {",
		wrong: "if m.Tick == 0 {",
		test:  "^TestSliceInUse$",
	},
	{
		name:  "a mark lost by who notes a loss",
		file:  "lease/loss.go",
		right: "	if !m.Retired {\n",
		wrong: "	m.Retired = false\n	if false {\n",
		test:  "^TestMove",
	},
	{
		name:  "a counter of an earlier attempt to move",
		file:  "lease/move.go",
		right: "if there.Swapped || there.meta != nil {",
		wrong: "if true {",
		test:  "^TestMove",
	},
	{
		name:  "a space made once more by a move that stood still",
		file:  "lease/move.go",
		right: "if found.Name != announced.Name || !announced.isOf(seen.Answer) {",
		wrong: "if found.Name != announced.Name {",
		test:  "^TestMove",
	},
	{
		name:  "a move taken for a loss that was not noted",
		file:  "lease/move.go",
		right: "	m.Losses++ ",
		wrong: "	// ",
		test:  "^TestMove",
	},
	{
		name:  "a space retired for two others",
		file:  "lease/move.go",
		right: `case m.Successor != "" && !slices.Contains(successor.Replaced, m.Successor):`,
		wrong: `case m.Successor == "?" && !slices.Contains(successor.Replaced, m.Successor):`,
		test:  chains, schedules: 1000,
	},
	{
		name:  "a mark for another space",
		file:  "lease/snapshot.go",
		right: "if before.Retired && before.Name != m.Name {",
		wrong: "if false {",
		test:  "^TestAnotherSpace$",
	},
	{
		name:  "a replaced space that is forgotten",
		file:  "lease/move.go",
		right: "	return append(was.Replaced, was.Name)\n",
		wrong: "	return was.Replaced\n",
		test:  chains, schedules: 8000,
	},
	{
		name:  "a space made where a move had stopped",
		file:  "lease/space.go",
		right: "if seen.isMoving() && m.mayShareIDs(",
		wrong: "if false && m.mayShareIDs(",
		test:  chains, schedules: 1000,
	},

	// Counters after a loss.
	{
		name:  "the number of a counter after a loss",
		file:  "lease/counter.go",
		right: "c.Lost = c.ID != id",
		wrong: "c.Lost = c.ID == \"\"",
		test:  counters, schedules: 1000,
	},
	{
		name:  "a counter set for a loss that was noted meanwhile",
		file:  "lease/counters.go",
		right: "case seen.id() != before.id():",
		wrong: "case before == nil:",
		test:  counters, schedules: 8000,
	},
	{
		name:  "a counter made anew after a loss",
		file:  "lease/counters.go",
		right: "			found.ID = \"\" //",
		wrong: "			//",
		test:  counters, schedules: 2000,
	},
	{
		name:  "a period begun anew though it is not known to be new",
		file:  "lease/counters.go",
		right: "if seen.meta.isNew(period) {",
		wrong: "if !c.Lost || seen.meta.isNew(period) {",
		test:  counters, schedules: 2000,
	},
	{
		name:  "a period taken early before the loss",
		file:  "lease/counters.go",
		right: "period.Begin.Before(m.start(m.Floor).Add(m.MaxSkew))",
		wrong: "period.Begin.Before(m.start(m.Floor))",
		test:  counters, schedules: 8000,
	},

	// The keeper, in the explorer and by its own tests.
	{
		name:  "a copied machine ignored",
		file:  "lease/loop.go",
		right: "	if l.noticeCopy() {\n		l.drop()\n	}\n",
		wrong: "	l.noticeCopy()\n",
		test:  copies, schedules: 1000,
	},
	{
		name: "a copy looked for before the take",
		file: "lease/loop.go",
		right: `		leases, err := l.take(ctx, first, last)
		if l.noticeCopy() { //`,
		wrong: `		copied := l.noticeCopy()
		leases, err := l.take(ctx, first, last)
		if copied { //`,
		test: copies, schedules: 2000,
	},
	{
		name:  "windows of the original taken for own ones",
		file:  "lease/loop.go",
		right: "	l.plan.ForgetAll()\n",
		wrong: "",
		test:  copies, schedules: 1000,
	},
	{
		name:  "a refused caller does not wake the keeper",
		file:  "lease/loop.go",
		right: "	case <-l.wake:\n",
		wrong: "",
		test:  "^TestKeeperRefused$",
	},
	{
		name:  "a call that hangs for as long as it likes",
		file:  "lease/loop.go",
		right: "		limit = urgentTake\n",
		wrong: "		limit = time.Hour\n",
		test:  "^TestKeeperOutlives$",
	},
	{
		name:  "no window further ahead",
		file:  "lease/internal/plan/plan.go",
		right: "min(windows, mostAhead)",
		wrong: "1",
		test:  "^TestKeeperOutlives$",
	},

	// Counters, by their own tests.
	{
		name:  "a run that begins one number early",
		file:  "counter/fetch.go",
		right: "&run{first: got.First,",
		wrong: "&run{first: got.First - got.Step,",
		test:  "^TestEnd$",
	},
	{
		name:  "one number past the end of a run",
		file:  "counter/counter.go",
		right: "	if i < r.count {\n		return r.number(i), nil",
		wrong: "	if i <= r.count {\n		return r.number(i), nil",
		test:  "^TestEverybody$|^TestEnd$",
	},
	{
		name:  "a step of 1 whatever was asked for",
		file:  "counter/fetch.go",
		right: "&run{first: got.First, step: got.Step,",
		wrong: "&run{first: got.First, step: 1,",
		test:  "^TestEnd$",
	},
	{
		name:  "a number given, and the next caller served with it again",
		file:  "counter/strict.go",
		right: "			got.First += got.Step\n",
		wrong: "",
		test:  "^TestEverybody$|^TestStrictGone$",
	},
	{
		name:  "a strict number given to two",
		file:  "counter/strict.go",
		right: "		got.N -= part\n",
		wrong: "		if got.N -= part; len(batch) > 1 {\n			got.First -= got.Step\n		}\n",
		test:  "^TestEverybody$",
	},

	// The file engine, by its own tests.
	{
		name:  "a swap that compares nothing",
		file:  "lease/file/file.go",
		right: "if !swap.Matches(answer.Entries, expect) {",
		wrong: "if !swap.Matches(answer.Entries, answer.Entries) {",
		test:  "^TestSuite$",
	},
	{
		name:  "a swap without the lock",
		file:  "lease/file/lock.go",
		right: "	if err := e.wait(ctx, f); err != nil {",
		wrong: "	if err := ctx.Err(); err != nil {",
		test:  "^TestSuite$",
	},
	{
		name:  "a position that stays",
		file:  "lease/file/file.go",
		right: "	s.Position++\n",
		wrong: "",
		test:  "^TestSuite$",
	},
	{
		name:  "entries renamed before they are written",
		file:  "lease/file/replace.go",
		right: "		{\"write\", func() error { return e.write(next, content) }},\n		{\"rename\", func() error { return os.Rename(next, e.path(name)) }},\n",
		wrong: "		{\"write\", func() error { return e.write(e.path(name), content) }},\n		{\"rename\", func() error { return os.Rename(e.path(name), next) }},\n",
		test:  "^TestCrashes$",
	},
	{
		name:  "a damaged file taken for a good one",
		file:  "lease/file/state.go",
		right: "if string(sum) != sumOf(body) {",
		wrong: "if len(sum) == 0 {",
		test:  "^TestDamage$",
	},
	{
		name:  "a copy of the directory with the same lineage",
		file:  "lease/file/state.go",
		right: "return s.Token + file.Inode + file.Born + cmp.Or(dir.Born, dir.Inode), nil",
		wrong: "return s.Token + cmp.Or(\"\", dir.Born[:0], file.Inode[:0]), nil",
		test:  "^TestCopy$",
	},

	// The first node of a part.
	{
		name:  "the first node forgotten in a take",
		file:  "lease/take.go",
		right: "firstNode := m.First + node",
		wrong: "firstNode := node",
		test:  parts, schedules: 10,
	},
	{
		name:  "the first node added twice in a take",
		file:  "lease/take.go",
		right: "firstNode := m.First + node",
		wrong: "firstNode := m.First + m.First + node",
		test:  parts, schedules: 10,
	},
	{
		name:  "the first node added in the reserve too",
		file:  "lease/reserve.go",
		right: "return l.mainNodes() + uint32(tick%sliceCount)*l.Reserve",
		wrong: "return l.First + l.mainNodes() + uint32(tick%sliceCount)*l.Reserve",
		test:  parts, schedules: 200,
	},
	{
		name:  "the first node forgotten in the reserve",
		file:  "lease/take.go",
		right: "firstNode := m.First + node",
		wrong: "firstNode := node\n		if window >= m.Floor {\n			firstNode = m.First + node\n		}\n",
		test:  parts, schedules: 200,
	},
	{
		name:  "the first node forgotten by a move",
		file:  "lease/move.go",
		right: "	m.Name = retired.Successor\n",
		wrong: "	m.Name = retired.Successor\n	m.First = 0\n",
		test:  "^TestMoveKilled$",
	},
	{
		name:  "the first node added twice by a move",
		file:  "lease/move.go",
		right: "	m.Name = retired.Successor\n",
		wrong: "	m.Name = retired.Successor\n	m.First += retired.First\n",
		test:  "^TestMoveKilled$",
	},
	{
		name:  "a move beside a space with the same nodes",
		file:  "lease/move.go",
		right: "m.Overlaps(old.Limits)",
		wrong: "m.First == old.First",
		test:  "^TestMoveOverlap$",
	},
	{
		name:  "the first node forgotten by Info",
		file:  "lease/space.go",
		right: "	info.Taken = m.countTaken",
		wrong: "	info.First = 0\n	info.Taken = m.countTaken",
		test:  "^TestInfo$",
	},
	{
		name:  "the first node forgotten where a Snowflake's workers are checked",
		file:  "snowflake/keep.go",
		right: "uint64(limits.Last()) >= workers",
		wrong: "uint64(limits.Nodes) > workers",
		test:  "^TestKeepChecks$",
	},
	{
		name:  "the first node added twice where a Snowflake's workers are checked",
		file:  "snowflake/keep.go",
		right: "uint64(limits.Last()) >= workers",
		wrong: "uint64(limits.First+limits.Last()) >= workers",
		test:  "^TestKeepChecks$",
	},
	{
		name:  "the first node forgotten by the service",
		file:  "service/internal/server/leases.go",
		right: "		First:          limits.First,\n",
		wrong: "",
		test:  "^TestLeases$",
	},
	{
		name:  "the first node added twice by the service",
		file:  "service/internal/server/leases.go",
		right: "			FirstNode: l.FirstNode,\n",
		wrong: "			FirstNode: c.state.Store.Limits().First + l.FirstNode,\n",
		test:  "^TestLeases$",
	},
	{
		name:  "the first node forgotten by a client of the service",
		file:  "service/client/leases.go",
		right: "		First:   found.First,\n",
		wrong: "",
		test:  "^TestReplicas$",
	},
	{
		name:  "the first node added to what is taken by Info",
		file:  "lease/reserve.go",
		right: "	return min(max(nodes.At(window), begin), end) - begin\n",
		wrong: "	return min(m.First+max(nodes.At(window), begin), end) - begin\n",
		test:  "^TestInfo$",
	},
}
