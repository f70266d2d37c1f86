package shuffle

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// ErrNoFile says that the store does not have a file (any more).
var ErrNoFile = errors.New("the executor does not have this shuffle file")

// Store keeps the shuffle files that an executor's tasks wrote, a directory for each attempt, until their job ends. It is
// safe for concurrent use.
type Store struct {
	root string

	mu   sync.Mutex
	jobs map[string]*jobFiles
}

type jobFiles struct {
	attempts map[attempt]map[int]File // by partition; nil while the attempt still writes
	bytes    int64
}

// attempt names an attempt within its job.
type attempt struct{ stage, task, attempt int32 }

func attemptOf(id *seracv1.TaskId) attempt {
	return attempt{id.GetStage(), id.GetTask(), id.GetAttempt()}
}

// NewStore keeps its files below root, an empty directory.
func NewStore(root string) *Store { return &Store{root: root, jobs: map[string]*jobFiles{}} }

// Begin makes the empty directory that an attempt writes into. It must be followed by Commit or Discard.
func (s *Store) Begin(id *seracv1.TaskId) (dir string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[id.GetJobId()]
	if job == nil {
		job = &jobFiles{attempts: map[attempt]map[int]File{}}
		s.jobs[id.GetJobId()] = job
	}
	if _, twice := job.attempts[attemptOf(id)]; twice {
		return "", fmt.Errorf("shuffle write: attempt %s has written before", attemptDir(id))
	}
	dir = filepath.Join(s.jobDir(id.GetJobId()), attemptDir(id))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make shuffle directory: %w", err)
	}
	job.attempts[attemptOf(id)] = nil
	return dir, nil
}

// Commit makes an attempt's files readable by others.
func (s *Store) Commit(id *seracv1.TaskId, files []File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[id.GetJobId()]
	if job == nil {
		return fmt.Errorf("shuffle write: job %s is over", id.GetJobId())
	}
	byPartition := make(map[int]File, len(files))
	for _, f := range files {
		byPartition[f.Partition] = f
		job.bytes += f.Bytes
	}
	job.attempts[attemptOf(id)] = byPartition
	return nil
}

// Discard removes an attempt's directory with whatever is in it.
func (s *Store) Discard(id *seracv1.TaskId) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if job := s.jobs[id.GetJobId()]; job != nil {
		for _, f := range job.attempts[attemptOf(id)] {
			job.bytes -= f.Bytes
		}
		delete(job.attempts, attemptOf(id))
		if len(job.attempts) == 0 {
			delete(s.jobs, id.GetJobId())
			return s.removeJob(id.GetJobId())
		}
	}
	if err := os.RemoveAll(filepath.Join(s.jobDir(id.GetJobId()), attemptDir(id))); err != nil {
		return fmt.Errorf("remove shuffle directory: %w", err)
	}
	return nil
}

// Find is the file of a partition that the producer wrote; ErrNoFile when there is none.
func (s *Store) Find(producer *seracv1.TaskId, partition int) (File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if job := s.jobs[producer.GetJobId()]; job != nil {
		if f, ok := job.attempts[attemptOf(producer)][partition]; ok {
			return f, nil
		}
	}
	return File{}, fmt.Errorf("%w: job %s attempt %s partition %d", ErrNoFile, producer.GetJobId(), attemptDir(producer), partition)
}

// EndJob removes all files of a job. No task of the job may be writing.
func (s *Store) EndJob(job string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[job] == nil {
		return nil
	}
	delete(s.jobs, job)
	return s.removeJob(job)
}

// Clear removes the files of all jobs. No task may be writing.
func (s *Store) Clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var faults []error
	for job := range s.jobs {
		delete(s.jobs, job)
		faults = append(faults, s.removeJob(job))
	}
	return errors.Join(faults...)
}

// Usage is the number of jobs that have files here, and the bytes of the committed ones.
func (s *Store) Usage() (jobs int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, job := range s.jobs {
		bytes += job.bytes
	}
	return len(s.jobs), bytes
}

func (s *Store) removeJob(job string) error {
	if err := os.RemoveAll(s.jobDir(job)); err != nil {
		return fmt.Errorf("remove shuffle files of job %s: %w", job, err)
	}
	return nil
}

// jobDir: a job's id may be any text, so it is escaped, and never "." or "..".
func (s *Store) jobDir(job string) string { return filepath.Join(s.root, "job-"+url.PathEscape(job)) }

func attemptDir(id *seracv1.TaskId) string {
	return fmt.Sprintf("%d.%d.%d", id.GetStage(), id.GetTask(), id.GetAttempt())
}
